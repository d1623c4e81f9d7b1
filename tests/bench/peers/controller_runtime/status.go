package main

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status says how far the Deployment is, which says what this generation of the WebApp asks for.
func status(webapp *WebApp, deployment *appsv1.Deployment) WebAppStatus {
	said := WebAppStatus{
		ObservedGeneration: webapp.Generation,
		Conditions:         slices.Clone(webapp.Status.Conditions),
		Replicas:           deployment.Status.Replicas,
		ReadyReplicas:      deployment.Status.ReadyReplicas,
		UpdatedReplicas:    deployment.Status.UpdatedReplicas,
	}
	condition := func(name string, holds bool, reason, message string) {
		value := metav1.ConditionFalse
		if holds {
			value = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&said.Conditions, metav1.Condition{
			Type: name, Status: value, Reason: reason, Message: message, ObservedGeneration: webapp.Generation,
		})
	}
	if complete(deployment) {
		condition("Ready", true, "Ready", "all children match the spec and are healthy")
		condition("Progressing", false, "Complete", "the spec is applied and rolled out")
	} else {
		condition("Ready", false, "RollingOut", "pods are missing")
		condition("Progressing", true, "RollingOut", "pods are missing")
	}
	if available(deployment) {
		condition("Available", true, "MinimumReplicasAvailable", "the Deployment has minimum availability")
	} else {
		condition("Available", false, "MinimumReplicasUnavailable", "too few pods are available. The condition Ready has the cause")
	}
	condition("Stalled", false, "NotStalled", "no child is blocked")
	condition("Conflicted", false, "NoConflict", "no other field manager owns a field of the spec")
	condition("Contested", false, "NotContested", "no other writer keeps overwriting a field")
	return said
}

func complete(deployment *appsv1.Deployment) bool {
	found, wanted := deployment.Status, ptr.Deref(deployment.Spec.Replicas, 1)
	return found.ObservedGeneration >= deployment.Generation &&
		found.UpdatedReplicas == wanted && found.Replicas == wanted && found.AvailableReplicas == wanted
}

func available(deployment *appsv1.Deployment) bool {
	return slices.ContainsFunc(deployment.Status.Conditions, func(found appsv1.DeploymentCondition) bool {
		return found.Type == appsv1.DeploymentAvailable && found.Status == corev1.ConditionTrue
	})
}
