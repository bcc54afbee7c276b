package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// cachedExpressions is the size of kube-scheduler's own cache.
const cachedExpressions = 10

// caches live as long as the process, as the scheduler's cache does: a repeated question finds its
// expressions compiled.
var caches = map[cel.Features]*cel.Cache{}

func cacheFor(switches structured.Features) *cel.Cache {
	key := cel.Features{
		EnableConsumableCapacity: switches.ConsumableCapacity,
		EnableListTypeAttributes: switches.ListTypeAttributes,
	}
	if caches[key] == nil {
		caches[key] = cel.NewCache(cachedExpressions, key)
	}
	return caches[key]
}

var variants = []string{"stable", "incubating", "experimental"}

// selectVariant is global in the module; requests are answered one after the other.
func selectVariant(name string) error {
	if name == "" {
		structured.EnableAllocators(variants...)
		return nil
	}
	if !slices.Contains(variants, name) {
		return fmt.Errorf("unknown variant %q, known are: %s", name, strings.Join(variants, ", "))
	}
	structured.EnableAllocators(name)
	return nil
}

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	list := make([]*resourceapi.DeviceClass, 0, len(c))
	for _, class := range c {
		list = append(list, class)
	}
	return list, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

// engine holds what stays the same for all allocations of one request.
type engine struct {
	switches structured.Features
	classes  classes
	slices   []*resourceapi.ResourceSlice
	cache    *cel.Cache
	limit    time.Duration
}

func newEngine(req *request) *engine {
	byName := classes{}
	for _, class := range req.Classes {
		byName[class.Name] = class
	}
	published := req.Slices
	if req.Features.DeviceTaintRules {
		published = withRules(published, req.TaintRules)
	}
	switches := req.Features.Features
	return &engine{
		switches: switches, classes: byName, slices: published,
		cache: cacheFor(switches), limit: seconds(req.CallLimitSeconds),
	}
}

// allocator makes the object that serves one pod on all nodes.
func (e *engine) allocator(ctx context.Context, state structured.AllocatedState) (structured.Allocator, error) {
	return structured.NewAllocator(ctx, e.switches, state, e.classes, e.slices, e.cache)
}

// try makes one call of the allocator and names its outcome; seconds and steps are left to the caller.
func (e *engine) try(
	ctx context.Context, allocator structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim,
) verdict {
	ctx, cancel := withLimit(ctx, e.limit)
	defer cancel()
	results, err := allocator.Allocate(ctx, node, claims)
	if err != nil {
		return failed(err)
	}
	if results == nil && len(claims) > 0 {
		return verdict{Outcome: unallocatable}
	}
	return verdict{Outcome: allocated, Allocations: results}
}

func failed(err error) verdict {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return verdict{Outcome: timeout, Error: err.Error()}
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return verdict{Outcome: unallocatable, Error: err.Error()}
	}
	return verdict{Outcome: fatal, Error: err.Error(), Fatal: true}
}

// statistics asks for what the allocator's implementations offer beyond the public interface, whose types
// cannot be named here: the number of search steps so far, and the name of the variant.
func statistics(allocator structured.Allocator) (steps *int64, variant string) {
	value := reflect.ValueOf(allocator)
	if method := value.MethodByName("GetStats"); method.IsValid() {
		if count := method.Call(nil)[0].FieldByName("NumAllocateOneInvocations"); count.IsValid() {
			number := count.Int()
			steps = &number
		}
	}
	if method := value.MethodByName("Channel"); method.IsValid() {
		variant = method.Call(nil)[0].String()
	}
	return steps, variant
}

func seconds(number float64) time.Duration {
	return time.Duration(number * float64(time.Second))
}

func withLimit(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
