package main

import (
	resourceapi "k8s.io/api/resource/v1"
)

// withRules returns the slices as the scheduler sees them: every rule's taint is on every device it selects.
func withRules(slices []*resourceapi.ResourceSlice, rules []*resourceapi.DeviceTaintRule) []*resourceapi.ResourceSlice {
	if len(rules) == 0 {
		return slices
	}
	tainted := make([]*resourceapi.ResourceSlice, len(slices))
	for i, slice := range slices {
		tainted[i] = slice.DeepCopy()
		for _, rule := range rules {
			apply(rule, tainted[i])
		}
	}
	return tainted
}

// apply follows the scheduler's slice tracker: a rule without a selector taints nothing, an empty selector everything.
func apply(rule *resourceapi.DeviceTaintRule, slice *resourceapi.ResourceSlice) {
	selector := rule.Spec.DeviceSelector
	if selector == nil || !admits(selector.Driver, slice.Spec.Driver) || !admits(selector.Pool, slice.Spec.Pool.Name) {
		return
	}
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		if admits(selector.Device, device.Name) {
			device.Taints = append(device.Taints, rule.Spec.Taint)
		}
	}
}

func admits(wanted *string, actual string) bool {
	return wanted == nil || *wanted == actual
}
