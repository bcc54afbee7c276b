// Package lines is what the programs beside drasat have in common: a JSON request a line on stdin, a JSON answer
// a line on stdout.
//
// The first line that a program writes, and the only one with --version, says which module it was built from.
package lines

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	kjson "sigs.k8s.io/json"
)

// Handshake is the first line of a program.
type Handshake struct {
	Peer     string `json:"peer"`
	Protocol int    `json:"protocol"`
	Module   string `json:"module"`
	Version  string `json:"version"`
	Go       string `json:"go"`
}

// Failure is the answer to a request that was not understood, or that the other system's code did not survive.
type Failure struct {
	ID      json.RawMessage `json:"id"`
	Failure string          `json:"failure"`
	Stack   string          `json:"stack,omitempty"`
}

// Head is what every request begins with.
type Head struct {
	ID   json.RawMessage `json:"id"`
	Kind string          `json:"kind"`
}

// NewHandshake tells the version of the module that the program was built with.
func NewHandshake(peer string, protocol int, module string) Handshake {
	made := Handshake{Peer: peer, Protocol: protocol, Module: module, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return made
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			made.Version = dependency.Version
		}
	}
	return made
}

// Serve answers requests until stdin ends, or until nobody waits for answers any more.
func Serve(greeting Handshake, answer func([]byte) any) {
	versionOnly := flag.Bool("version", false, "print the handshake line and exit")
	flag.Parse()
	go endWith(os.Getppid())
	out := bufio.NewWriter(os.Stdout)
	if err := run(os.Stdin, out, greeting, answer, *versionOnly); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// endWith stops a search that nobody waits for any more: a killed parent cannot stop it itself.
func endWith(parent int) {
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	os.Exit(3)
}

func run(in io.Reader, out *bufio.Writer, greeting Handshake, answer func([]byte) any, versionOnly bool) error {
	if err := writeLine(out, greeting); err != nil || versionOnly {
		return err
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := writeLine(out, guarded(line, answer)); err != nil {
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

// guarded makes a failure of a panic.
func guarded(line []byte, answer func([]byte) any) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			var head Head
			// The identifier alone is wanted; what else the line holds does not matter here.
			_ = json.Unmarshal(line, &head)
			result = Failure{ID: head.ID, Failure: fmt.Sprintf("panic: %v", cause), Stack: string(debug.Stack())}
		}
	}()
	return answer(line)
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

// Decode refuses fields that the request does not have: ignoring one could make the answer a wrong one.
func Decode(line []byte, request any) error {
	unknown, err := kjson.UnmarshalStrict(line, request)
	return errors.Join(append(unknown, err)...)
}
