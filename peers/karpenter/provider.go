package main

import (
	"context"
	"errors"
	"unique"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	testclass "sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// reservationLabel tells reservations apart; a provider has to choose one.
const reservationLabel = "drasat.dev/reservation-id"

func init() {
	cloudprovider.ReservationIDLabel = reservationLabel
	karpenter.WellKnownLabels = karpenter.WellKnownLabels.Insert(reservationLabel)
}

var errSimulation = errors.New("a simulation launches nothing")

// provider offers the instance types of a request to every pool, and launches nothing.
type provider struct {
	types []instanceType
}

func (p *provider) Create(context.Context, *karpenter.NodeClaim) (*karpenter.NodeClaim, error) {
	return nil, errSimulation
}
func (p *provider) Delete(context.Context, *karpenter.NodeClaim) error { return errSimulation }
func (p *provider) Get(context.Context, string) (*karpenter.NodeClaim, error) {
	return nil, errSimulation
}
func (p *provider) List(context.Context) ([]*karpenter.NodeClaim, error) { return nil, nil }
func (p *provider) IsDrifted(context.Context, *karpenter.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}
func (p *provider) Reboot(context.Context, *karpenter.NodeClaim, string) error { return errSimulation }
func (p *provider) RepairPolicies() []cloudprovider.RepairPolicy               { return nil }
func (p *provider) Name() string                                               { return "drasat" }
func (p *provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&testclass.TestNodeClass{}}
}

// GetInstanceTypes makes new types every time: they keep computed state.
func (p *provider) GetInstanceTypes(context.Context, *karpenter.NodePool) ([]*cloudprovider.InstanceType, error) {
	made := make([]*cloudprovider.InstanceType, 0, len(p.types))
	for _, one := range p.types {
		made = append(made, one.make())
	}
	return made, nil
}

func (t instanceType) make() *cloudprovider.InstanceType {
	requirements := scheduling.NewNodeSelectorRequirements(t.Requirements...)
	requirements.Add(scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, t.Name))
	made := &cloudprovider.InstanceType{
		Name:         t.Name,
		Requirements: requirements,
		Capacity:     t.Capacity,
		Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: t.Overhead},
	}
	reservations := []string{}
	for _, one := range t.Offerings {
		made.Offerings = append(made.Offerings, one.make())
		if one.ReservationID != "" {
			reservations = append(reservations, one.ReservationID)
		}
	}
	// A type says something of every well-known label.
	if len(reservations) > 0 {
		requirements.Add(scheduling.NewRequirement(reservationLabel, corev1.NodeSelectorOpIn, reservations...))
	}
	for label := range karpenter.WellKnownLabels {
		if !requirements.Has(label) && label != karpenter.NodePoolLabelKey {
			requirements.Add(scheduling.NewRequirement(label, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	for _, one := range t.Slices {
		made.DynamicResources.ResourceSliceTemplates = append(made.DynamicResources.ResourceSliceTemplates, one.make())
	}
	for _, one := range t.Bindings {
		made.DynamicResources.AttributeBindings = append(made.DynamicResources.AttributeBindings, one.make())
	}
	return made
}

func (o offering) make() *cloudprovider.Offering {
	requirements := scheduling.NewNodeSelectorRequirements(o.Requirements...)
	if o.ReservationID != "" {
		requirements.Add(scheduling.NewRequirement(reservationLabel, corev1.NodeSelectorOpIn, o.ReservationID))
	} else {
		requirements.Add(scheduling.NewRequirement(reservationLabel, corev1.NodeSelectorOpDoesNotExist))
	}
	made := &cloudprovider.Offering{
		Requirements:        requirements,
		Price:               o.Price,
		Available:           o.Available,
		ReservationCapacity: o.ReservationCapacity,
		CapacityOverride:    o.Capacity,
	}
	if len(o.Overhead) > 0 {
		made.OverheadOverride = &cloudprovider.InstanceTypeOverhead{KubeReserved: o.Overhead}
	}
	return made
}

func (s sliceTemplate) make() *cloudprovider.ResourceSliceTemplate {
	made := &cloudprovider.ResourceSliceTemplate{
		Driver:         unique.Make(s.Driver),
		Pool:           cloudprovider.ResourcePool{Name: unique.Make(s.Pool)},
		SharedCounters: s.SharedCounters,
	}
	for _, one := range s.Devices {
		made.Devices = append(made.Devices, cloudprovider.Device{
			Name:                     unique.Make(one.Name),
			Attributes:               one.Attributes,
			Capacity:                 one.Capacity,
			AllowMultipleAllocations: one.AllowMultipleAllocations != nil && *one.AllowMultipleAllocations,
			ConsumesCounters:         one.ConsumesCounters,
		})
	}
	return made
}

func (b binding) make() *cloudprovider.AttributeBinding {
	made := &cloudprovider.AttributeBinding{Attribute: resourceapi.QualifiedName(b.Attribute)}
	for _, one := range b.Devices {
		made.Devices = append(made.Devices, cloudprovider.DeviceID{
			Driver: unique.Make(one.Driver), Pool: unique.Make(one.Pool), Device: unique.Make(one.Device),
		})
	}
	return made
}
