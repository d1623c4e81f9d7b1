package main

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	client   client.Client
	template template
}

// Reconcile makes the children of one WebApp as the template says and tells in its status how they are.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	webapp := &WebApp{}
	if err := r.client.Get(ctx, request.NamespacedName, webapp); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !webapp.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	deployment := &appsv1.Deployment{}
	for _, desired := range r.template.children(webapp) {
		live, err := r.converge(ctx, webapp, desired)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("%T %s: %w", desired, desired.GetName(), err)
		}
		if found, fits := live.(*appsv1.Deployment); fits {
			deployment = found
		}
	}
	before := webapp.Status
	webapp.Status = status(webapp, deployment)
	if equality.Semantic.DeepEqual(before, webapp.Status) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.client.Status().Update(ctx, webapp))
}

// converge returns the child as it is now: untouched if it holds what is desired.
func (r *reconciler) converge(ctx context.Context, webapp *WebApp, desired client.Object) (client.Object, error) {
	live := blank(desired)
	err := r.client.Get(ctx, client.ObjectKeyFromObject(desired), live)
	if apierrors.IsNotFound(err) {
		return desired, r.client.Create(ctx, desired)
	}
	if err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(live, webapp) {
		return nil, fmt.Errorf("is not this WebApp's")
	}
	if converged(desired, live) {
		return live, nil
	}
	changed := live.DeepCopyObject().(client.Object)
	overwrite(changed, desired)
	return changed, r.client.Update(ctx, changed)
}

func blank(object client.Object) client.Object {
	switch object.(type) {
	case *corev1.ServiceAccount:
		return &corev1.ServiceAccount{}
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{}
	case *corev1.Service:
		return &corev1.Service{}
	default:
		return &appsv1.Deployment{}
	}
}

func converged(desired, live client.Object) bool {
	if !within(desired.GetLabels(), live.GetLabels()) || !within(desired.GetAnnotations(), live.GetAnnotations()) {
		return false
	}
	switch wanted := desired.(type) {
	case *corev1.ServiceAccount:
		found := live.(*corev1.ServiceAccount)
		return within(wanted.AutomountServiceAccountToken, found.AutomountServiceAccountToken)
	case *corev1.ConfigMap:
		found := live.(*corev1.ConfigMap)
		return maps.Equal(wanted.Data, found.Data) && within(wanted.Immutable, found.Immutable)
	case *corev1.Service:
		return within(wanted.Spec, live.(*corev1.Service).Spec)
	default:
		return within(desired.(*appsv1.Deployment).Spec, live.(*appsv1.Deployment).Spec)
	}
}

// overwrite has the child say what is desired. What it says besides goes, but for what the server has given it.
func overwrite(child, desired client.Object) {
	child.SetLabels(merged(child.GetLabels(), desired.GetLabels()))
	child.SetAnnotations(merged(child.GetAnnotations(), desired.GetAnnotations()))
	switch wanted := desired.(type) {
	case *corev1.ServiceAccount:
		child.(*corev1.ServiceAccount).AutomountServiceAccountToken = wanted.AutomountServiceAccountToken
	case *corev1.ConfigMap:
		found := child.(*corev1.ConfigMap)
		found.Data, found.Immutable = wanted.Data, wanted.Immutable
	case *corev1.Service:
		spec := &child.(*corev1.Service).Spec
		spec.Type, spec.Selector, spec.Ports = wanted.Spec.Type, wanted.Spec.Selector, wanted.Spec.Ports
		spec.SessionAffinity = wanted.Spec.SessionAffinity
	case *appsv1.Deployment:
		child.(*appsv1.Deployment).Spec = wanted.Spec
	}
}

func merged(live, desired map[string]string) map[string]string {
	if len(desired) == 0 {
		return live
	}
	all := make(map[string]string, len(live)+len(desired))
	maps.Copy(all, live)
	maps.Copy(all, desired)
	return all
}
