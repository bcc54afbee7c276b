// Command karpenter answers what the real Karpenter would launch for pending pods.
//
// It reads one JSON request a line from stdin and writes one JSON answer a line to stdout. The first line it
// writes, and the only one with --version, says which module it was built from.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	controllerlog "sigs.k8s.io/controller-runtime/pkg/log"
	kjson "sigs.k8s.io/json"
)

func main() {
	versionOnly := flag.Bool("version", false, "print the handshake line and exit")
	flag.Parse()
	controllerlog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	go endWith(os.Getppid())
	out := bufio.NewWriter(os.Stdout)
	if err := run(os.Stdin, out, *versionOnly); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// endWith stops a simulation that nobody waits for any more.
func endWith(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	os.Exit(3)
}

func run(in io.Reader, out *bufio.Writer, versionOnly bool) error {
	if err := writeLine(out, newHandshake()); err != nil || versionOnly {
		return err
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := writeLine(out, answer(line)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func writeLine(out *bufio.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(text, '\n')); err != nil {
		return err
	}
	return out.Flush()
}

var handlers = map[string]func(*request) (any, error){"provision": provision, "compatible": compatible}

// answer never fails: what cannot be answered, a panic of the simulation included, is a failure object.
func answer(line []byte) (result any) {
	var req request
	defer func() {
		if cause := recover(); cause != nil {
			result = failure{ID: req.ID, Failure: fmt.Sprintf("panic: %v", cause), Stack: string(debug.Stack())}
		}
	}()
	unknown, err := kjson.UnmarshalStrict(line, &req)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return failure{ID: req.ID, Failure: "request not understood: " + err.Error()}
	}
	handler, known := handlers[req.Kind]
	if !known {
		return failure{ID: req.ID, Failure: fmt.Sprintf("unknown kind of request %q", req.Kind)}
	}
	made, err := handler(&req)
	if err != nil {
		return failure{ID: req.ID, Failure: err.Error()}
	}
	return made
}
