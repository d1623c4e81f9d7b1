// A controller-runtime operator of WebApps, tuned as well as its authors could: what the benchmarks compare Coxswain with.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	webAppLabel = "coxswain.dev/webapp"
	workers     = 16
)

func main() {
	// Not the flag package's own set: controller-runtime has put a --kubeconfig of its own there.
	flags := flag.NewFlagSet("controller-runtime-peer", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the cluster and who this is in it")
	children := flags.String("children", "", "a JSON list of manifests with NAME, NAMESPACE, UID and IMAGE in them")
	_ = flags.Parse(os.Args[1:])
	ctrl.SetLogger(funcr.New(func(prefix, arguments string) { fmt.Fprintln(os.Stderr, prefix, arguments) }, funcr.Options{}))
	if err := run(*kubeconfig, *children); err != nil {
		fmt.Fprintln(os.Stderr, "controller-runtime:", err)
		os.Exit(1)
	}
}

func run(kubeconfig, children string) error {
	text, err := os.ReadFile(children)
	if err != nil {
		return err
	}
	template, err := readTemplate(text)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	manager, err := newManager(config)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&WebApp{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ServiceAccount{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Service{}).
		Owns(&appsv1.Deployment{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{client: manager.GetClient(), template: template})
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

// newManager makes one that caches WebApps and the objects with their label only, listens nowhere and elects nobody.
func newManager(config *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addWebApps(scheme)
	labelled, err := labels.NewRequirement(webAppLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	// Children are copied before they are changed, and only read otherwise.
	child := cache.ByObject{Label: labels.NewSelector().Add(*labelled), UnsafeDisableDeepCopy: ptr.To(true)}
	return ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ServiceAccount{}: child,
				&corev1.ConfigMap{}:      child,
				&corev1.Service{}:        child,
				&appsv1.Deployment{}:     child,
			},
		},
		// A reconcile reads what the one before it has written: hardly any write is refused as stale.
		Client:                 client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
}
