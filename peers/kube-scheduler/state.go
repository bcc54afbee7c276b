package main

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

func newState() structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
}

// record adds what one claim holds. Devices held for administration stay free for everybody else.
func record(state *structured.AllocatedState, allocation *resourceapi.AllocationResult, shares bool) {
	if allocation == nil {
		return
	}
	for _, held := range allocation.Devices.Results {
		if held.AdminAccess != nil && *held.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(held.Driver, held.Pool, held.Device)
		if !shares || held.ShareID == nil {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, held.ShareID))
		if held.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, held.ConsumedCapacity))
		}
	}
}

func stateOf(claims []*resourceapi.ResourceClaim, shares bool) structured.AllocatedState {
	state := newState()
	for _, claim := range claims {
		record(&state, claim.Status.Allocation, shares)
	}
	return state
}
