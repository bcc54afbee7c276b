package main

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	provisioningscheduling "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
	testclass "sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// The round takes place at one moment, so that ages are what the objects say.
var now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const nodeClassName = "default"

// mostReconciles bounds how often the overlay controller may ask to be called again.
const mostReconciles = 20

// provision runs one provisioning round of Karpenter on the request's objects.
func provision(req *request) (any, error) {
	ctx := options.ToContext(context.Background(), simulationOptions(req))
	if req.TimeLimitSeconds > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(req.TimeLimitSeconds*float64(time.Second)))
		defer cancel()
		ctx = limited
	}
	objects := prepared(req)
	kube := newClient(objects)
	frozen := clock.NewFakeClock(now)
	plain := &provider{types: req.InstanceTypes}
	cluster := state.NewCluster(frozen, kube, plain)
	store := nodeoverlay.NewInstanceTypeStore()
	if err := evaluateOverlays(ctx, nodeoverlay.NewController(frozen, kube, plain, store, cluster)); err != nil {
		return nil, err
	}
	offered := overlay.Decorate(plain, kube, store)
	if err := fillState(ctx, cluster, req); err != nil {
		return nil, err
	}
	devices := deviceallocation.NewController(kube)
	devices.Hydrate(ctx)
	recorder := events.NewRecorder(&record.FakeRecorder{})
	cache := virtualpods.NewVirtualPodCache(kube)
	provisioner := provisioning.NewProvisioner(kube, recorder, offered, cluster, frozen, devices, cache)
	began := time.Now()
	results, err := provisioner.Schedule(ctx)
	if err != nil {
		return nil, err
	}
	made := roundAnswer{ID: req.ID, Seconds: time.Since(began).Seconds()}
	if err := made.addOverlays(ctx, kube, offered, req); err != nil {
		return nil, err
	}
	made.addResults(&results)
	return made, nil
}

func simulationOptions(req *request) *options.Options {
	made := &options.Options{
		CPURequests:       1000,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: req.IgnoreClaims,
		FeatureGates:      options.FeatureGates{ReservedCapacity: true, NodeOverlay: true},
	}
	if req.BestEffortValues {
		made.MinValuesPolicy = options.MinValuesPolicyBestEffort
	}
	return made
}

// prepared makes of the request's objects what an API server and running controllers would have made of them.
func prepared(req *request) []client.Object {
	class := &testclass.TestNodeClass{ObjectMeta: metav1.ObjectMeta{Name: nodeClassName}}
	class.StatusConditions().SetTrue(status.ConditionReady)
	objects := []client.Object{class}
	for _, pool := range req.NodePools {
		pool.Spec.Template.Spec.NodeClassRef = &karpenter.NodeClassReference{
			Group: testclass.Group, Kind: "TestNodeClass", Name: nodeClassName,
		}
		pool.Status.Conditions = nil
		for _, one := range []string{karpenter.ConditionTypeValidationSucceeded, karpenter.ConditionTypeNodeClassReady} {
			pool.StatusConditions().SetTrue(one)
		}
		objects = append(objects, pool)
	}
	for _, pod := range req.Pods {
		if pod.Spec.NodeName == "" {
			pod.Status.Phase = corev1.PodPending
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			}}
		}
		objects = append(objects, pod)
	}
	objects = appendAll(objects, req.Nodes)
	objects = appendAll(objects, req.NodeClaims)
	objects = appendAll(objects, req.DaemonSets)
	objects = appendAll(objects, req.NodeOverlays)
	objects = appendAll(objects, req.Classes)
	objects = appendAll(objects, req.Slices)
	return appendAll(objects, req.Claims)
}

func appendAll[T client.Object](objects []client.Object, more []T) []client.Object {
	for _, one := range more {
		objects = append(objects, one)
	}
	return objects
}

func newClient(objects []client.Object) client.Client {
	return fake.NewClientBuilder().
		WithScheme(scheme.Scheme).
		WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.NodeOverlay{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(found client.Object) []string {
			return []string{found.(*corev1.Pod).Spec.NodeName}
		}).
		WithIndex(&corev1.Node{}, "spec.providerID", func(found client.Object) []string {
			return []string{found.(*corev1.Node).Spec.ProviderID}
		}).
		WithIndex(&karpenter.NodeClaim{}, "status.providerID", func(found client.Object) []string {
			return []string{found.(*karpenter.NodeClaim).Status.ProviderID}
		}).
		WithIndex(&storagev1.VolumeAttachment{}, "spec.nodeName", func(found client.Object) []string {
			return []string{found.(*storagev1.VolumeAttachment).Spec.NodeName}
		}).
		Build()
}

func evaluateOverlays(ctx context.Context, controller *nodeoverlay.Controller) error {
	for range mostReconciles {
		result, err := controller.Reconcile(ctx, reconcile.Request{})
		if err != nil {
			return fmt.Errorf("evaluating overlays: %w", err)
		}
		//nolint:staticcheck // the controller still sets the old field
		if !result.Requeue {
			return nil
		}
	}
	return fmt.Errorf("overlays did not settle")
}

// fillState tells the simulation of nodes and running pods, in the order in which it expects them.
func fillState(ctx context.Context, cluster *state.Cluster, req *request) error {
	for _, one := range req.NodeClaims {
		cluster.UpdateNodeClaim(one)
	}
	for _, one := range req.Nodes {
		if err := cluster.UpdateNode(ctx, one); err != nil {
			return fmt.Errorf("node %s: %w", one.Name, err)
		}
	}
	for _, one := range req.DaemonSets {
		if err := cluster.UpdateDaemonSet(ctx, one); err != nil {
			return fmt.Errorf("daemon set %s: %w", one.Name, err)
		}
	}
	for _, one := range req.Pods {
		if one.Spec.NodeName != "" {
			if err := cluster.UpdatePod(ctx, one); err != nil {
				return fmt.Errorf("pod %s: %w", named(one), err)
			}
		}
	}
	return nil
}

func (a *roundAnswer) addOverlays(
	ctx context.Context, kube client.Client, offered cloudprovider.CloudProvider, req *request,
) error {
	overlays := &v1alpha1.NodeOverlayList{}
	if err := kube.List(ctx, overlays); err != nil {
		return err
	}
	for i := range overlays.Items {
		one := &overlays.Items[i]
		condition := one.StatusConditions().Get(v1alpha1.ConditionTypeValidationSucceeded)
		found := overlayStatus{Name: one.Name, Ready: condition.IsTrue()}
		if !found.Ready && condition != nil {
			found.Reason = condition.Reason
		}
		a.Overlays = append(a.Overlays, found)
	}
	for _, pool := range req.NodePools {
		types, err := offered.GetInstanceTypes(ctx, pool)
		if err != nil {
			return err
		}
		for _, one := range types {
			found := pooledType{Pool: pool.Name, Name: one.Name, Capacity: one.Capacity}
			for _, way := range one.Offerings {
				found.Prices = append(found.Prices, way.Price)
			}
			for _, template := range one.DynamicResources.ResourceSliceTemplates {
				found.Drivers = append(found.Drivers, template.Driver.Value())
			}
			a.Types = append(a.Types, found)
		}
	}
	return nil
}

func (a *roundAnswer) addResults(results *provisioningscheduling.Results) {
	for _, one := range results.NewNodeClaims {
		a.Nodes = append(a.Nodes, newNodeOf(one))
	}
	for _, one := range results.ExistingNodes {
		if len(one.Pods) > 0 {
			a.Existing = append(a.Existing, existingNode{Name: one.Name(), Pods: podNames(one.Pods)})
		}
	}
	for pod, err := range results.PodErrors {
		a.Errors = append(a.Errors, podError{Pod: named(pod), Error: err.Error()})
	}
	sort.Slice(a.Errors, func(i, j int) bool { return a.Errors[i].Pod < a.Errors[j].Pod })
	for name, found := range results.DRAClaimAllocationMetadata {
		made := claimDevices{Claim: name.String(), Node: found.NodeClaimID.Value(), Devices: map[string][]deviceName{}}
		for kind, chosen := range found.Devices {
			for _, device := range chosen {
				made.Devices[kind.Value()] = append(made.Devices[kind.Value()], deviceName{
					Driver: device.DeviceID.Driver.Value(), Pool: device.DeviceID.Pool.Value(), Device: device.DeviceID.Device.Value(),
				})
			}
		}
		a.Claims = append(a.Claims, made)
	}
	sort.Slice(a.Claims, func(i, j int) bool { return a.Claims[i].Claim < a.Claims[j].Claim })
	a.renameNodes()
}

// placeholder matches the names of new nodes, whose numbers grow for the life of the process.
var placeholder = regexp.MustCompile(`hostname-placeholder-(\d+)`)

// renameNodes numbers the new nodes from 1 on in the order in which they were opened.
func (a *roundAnswer) renameNodes() {
	number := func(name string) int {
		found := placeholder.FindStringSubmatch(name)
		if found == nil {
			return 0
		}
		value, _ := strconv.Atoi(found[1])
		return value
	}
	sort.Slice(a.Nodes, func(i, j int) bool { return number(a.Nodes[i].Name) < number(a.Nodes[j].Name) })
	renamed := map[string]string{}
	for i := range a.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		renamed[a.Nodes[i].Name] = name
		a.Nodes[i].Name = name
	}
	rename := func(text string) string {
		return placeholder.ReplaceAllStringFunc(text, func(name string) string {
			if known, found := renamed[name]; found {
				return known
			}
			return "a node"
		})
	}
	for i := range a.Claims {
		a.Claims[i].Node = rename(a.Claims[i].Node)
	}
	for i := range a.Errors {
		a.Errors[i].Error = rename(a.Errors[i].Error)
	}
}

// newNodeOf reads prices before ToNodeClaim, which changes the object.
func newNodeOf(one *provisioningscheduling.NodeClaim) newNode {
	// The name that claims refer to is not exported.
	hostname := reflect.ValueOf(one).Elem().FieldByName("hostname").String()
	made := newNode{Name: hostname, Pool: one.NodePoolName, Pods: podNames(one.Pods)}
	for _, kind := range one.InstanceTypeOptions.OrderByPrice(one.Requirements) {
		made.Types = append(made.Types, kind.Name)
	}
	if len(one.InstanceTypeOptions) > 0 {
		for _, way := range one.InstanceTypeOptions[0].Offerings {
			fits := way.Launchable() &&
				one.Requirements.IsCompatible(way.Requirements, scheduling.AllowUndefinedWellKnownLabels)
			if fits && (made.Zone == "" || way.Price < made.Price) {
				made.Price, made.Zone, made.CapacityType = way.Price, way.Zone(), way.CapacityType()
			}
		}
	}
	claim := one.ToNodeClaim()
	made.Requirements, made.Annotations = claim.Spec.Requirements, claim.Annotations
	slices.SortFunc(made.Requirements, func(x, y karpenter.NodeSelectorRequirementWithMinValues) int {
		if x.Key < y.Key {
			return -1
		}
		return 1
	})
	return made
}

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, one := range pods {
		names = append(names, named(one))
	}
	sort.Strings(names)
	return names
}

// compatible asks Karpenter's own algebra about pairs of requirements.
func compatible(req *request) (any, error) {
	made := compatibleAnswer{ID: req.ID}
	for _, pair := range req.Pairs {
		known := scheduling.NewNodeSelectorRequirementsWithMinValues(pair.Known...)
		asked := scheduling.NewNodeSelectorRequirementsWithMinValues(pair.Asked...)
		made.Strict = append(made.Strict, known.IsCompatible(asked))
		made.WellKnown = append(made.WellKnown, known.IsCompatible(asked, scheduling.AllowUndefinedWellKnownLabels))
		made.Intersects = append(made.Intersects, known.Intersects(asked) == nil)
	}
	return made, nil
}
