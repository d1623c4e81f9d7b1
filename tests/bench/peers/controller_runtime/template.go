package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A template is the children of every WebApp, as typed objects with placeholders in their strings.
type template []client.Object

func readTemplate(text []byte) (template, error) {
	var manifests []json.RawMessage
	if err := json.Unmarshal(text, &manifests); err != nil {
		return nil, err
	}
	decoder := clientgoscheme.Codecs.UniversalDeserializer()
	var read template
	for _, manifest := range manifests {
		decoded, _, err := decoder.Decode(manifest, nil, nil)
		if err != nil {
			return nil, err
		}
		object, fits := decoded.(client.Object)
		if !fits {
			return nil, fmt.Errorf("%T is no object with metadata", decoded)
		}
		read = append(read, object)
	}
	return read, nil
}

// children are the objects that one WebApp should have, in the order of the template.
func (made template) children(webapp *WebApp) []client.Object {
	names := strings.NewReplacer(
		"NAMESPACE", webapp.Namespace, "NAME", webapp.Name, "UID", string(webapp.UID), "IMAGE", webapp.Spec.Image,
	)
	children := make([]client.Object, 0, len(made))
	for _, object := range made {
		child := object.DeepCopyObject().(client.Object)
		fill(reflect.ValueOf(child), names)
		children = append(children, child)
	}
	return children
}

// fill replaces the placeholders in every string that can be reached, keys of maps apart.
func fill(value reflect.Value, names *strings.Replacer) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			fill(value.Elem(), names)
		}
	case reflect.Struct:
		for index := range value.NumField() {
			fill(value.Field(index), names)
		}
	case reflect.Slice:
		for index := range value.Len() {
			fill(value.Index(index), names)
		}
	case reflect.Map:
		if value.Type().Elem().Kind() != reflect.String {
			return
		}
		for _, key := range value.MapKeys() {
			filled := names.Replace(value.MapIndex(key).String())
			value.SetMapIndex(key, reflect.ValueOf(filled).Convert(value.Type().Elem()))
		}
	case reflect.String:
		if value.CanSet() {
			value.SetString(names.Replace(value.String()))
		}
	}
}
