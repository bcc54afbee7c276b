// Command karpenter answers what the real Karpenter would launch for pending pods.
package main

import (
	"fmt"

	"drasat.dev/peers/lines"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	controllerlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	lines.Serve(lines.NewHandshake("karpenter", protocolVersion, simulationModule), answer)
}

var handlers = map[string]func(*request) (any, error){"provision": provision, "compatible": compatible}

// answer never fails: what cannot be answered is a failure object.
func answer(line []byte) any {
	var req request
	if err := lines.Decode(line, &req); err != nil {
		return lines.Failure{ID: req.ID, Failure: "request not understood: " + err.Error()}
	}
	handler, known := handlers[req.Kind]
	if !known {
		return lines.Failure{ID: req.ID, Failure: fmt.Sprintf("unknown kind of request %q", req.Kind)}
	}
	made, err := handler(&req)
	if err != nil {
		return lines.Failure{ID: req.ID, Failure: err.Error()}
	}
	return made
}
