package main

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// within tells whether what `desired` says is so in `live`: whatever it leaves out, which the server may have filled in,
// does not count. equality.Semantic.DeepDerivative is like it, but takes a number that was left out for 0.
func within(desired, live any) bool {
	return holds(reflect.ValueOf(desired), reflect.ValueOf(live))
}

func holds(desired, live reflect.Value) bool {
	return desired.IsZero() || same(desired, live)
}

func same(desired, live reflect.Value) bool {
	switch desired.Kind() {
	case reflect.Pointer:
		return !live.IsNil() && same(desired.Elem(), live.Elem())
	case reflect.Struct:
		return sameStruct(desired, live)
	case reflect.Slice:
		if desired.Len() != live.Len() {
			return false
		}
		for index := range desired.Len() {
			if !holds(desired.Index(index), live.Index(index)) {
				return false
			}
		}
		return true
	case reflect.Map:
		for _, key := range desired.MapKeys() {
			found := live.MapIndex(key)
			if !found.IsValid() || !same(desired.MapIndex(key), found) {
				return false
			}
		}
		return true
	default:
		return desired.Equal(live)
	}
}

func sameStruct(desired, live reflect.Value) bool {
	switch wanted := desired.Interface().(type) {
	case resource.Quantity:
		return wanted.Cmp(live.Interface().(resource.Quantity)) == 0
	case intstr.IntOrString:
		return wanted == live.Interface().(intstr.IntOrString)
	}
	for index := range desired.NumField() {
		if !holds(desired.Field(index), live.Field(index)) {
			return false
		}
	}
	return true
}
