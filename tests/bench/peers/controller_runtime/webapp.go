package main

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "coxswain.dev", Version: "v1"}

// WebApp is what of one is read and written here.
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebAppSpec   `json:"spec"`
	Status            WebAppStatus `json:"status,omitempty"`
}

// WebAppSpec is the part of it that the template has a place for.
type WebAppSpec struct {
	Image string `json:"image"`
}

// WebAppStatus is written as a whole.
type WebAppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Replicas           int32              `json:"replicas"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	UpdatedReplicas    int32              `json:"updatedReplicas"`
}

// WebAppList is a LIST's answer.
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebApp `json:"items"`
}

// DeepCopyInto is for the cache and the client.
func (in *WebApp) DeepCopyInto(out *WebApp) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(in.Status.Conditions)
}

// DeepCopyObject makes a WebApp a runtime.Object.
func (in *WebApp) DeepCopyObject() runtime.Object {
	out := new(WebApp)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject makes a WebAppList a runtime.Object.
func (in *WebAppList) DeepCopyObject() runtime.Object {
	out := &WebAppList{TypeMeta: in.TypeMeta, Items: make([]WebApp, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for index := range in.Items {
		in.Items[index].DeepCopyInto(&out.Items[index])
	}
	return out
}

func addWebApps(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &WebApp{}, &WebAppList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
