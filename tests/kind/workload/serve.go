package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// behaviour is how the server behaves.
type behaviour struct {
	version    string
	port       int
	answerTime time.Duration
	neverReady bool
	unhealthy  time.Duration
	startAfter time.Duration
	crashAfter time.Duration
	exitCode   int
	message    string
}

func serveFlags(flags *flag.FlagSet) *behaviour {
	var b behaviour
	flags.StringVar(&b.version, "version", "v1", "what it answers, with the name of the host")
	flags.IntVar(&b.port, "port", 8080, "where it listens")
	// A server that ended while it answers would show: most of the time all connections wait for an answer.
	flags.DurationVar(&b.answerTime, "answer-time", 20*time.Millisecond, "how long an answer takes")
	flags.BoolVar(&b.neverReady, "never-ready", false, "run, but never listen")
	flags.DurationVar(&b.unhealthy, "unhealthy-after", 0, "answer 500 at /healthz from then on, if it is not 0")
	flags.DurationVar(&b.startAfter, "start-after", 0, "listen only then")
	flags.DurationVar(&b.crashAfter, "crash-after", 0, "end with --exit-code then, if it is not 0")
	flags.IntVar(&b.exitCode, "exit-code", 3, "of the crash")
	flags.StringVar(&b.message, "message", "crashed as told", "the last line of the log before the crash")
	return &b
}

// serve answers until the context ends, and then as ordinary Go programs do: what was begun is answered, idle
// connections are closed.
func serve(ctx context.Context, b behaviour) error {
	if b.crashAfter > 0 {
		time.AfterFunc(b.crashAfter, func() {
			fmt.Fprintln(os.Stderr, b.message)
			os.Exit(b.exitCode)
		})
	}
	if b.neverReady {
		<-ctx.Done()
		return nil
	}
	select {
	case <-time.After(b.startAfter):
	case <-ctx.Done():
		return nil
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", b.port))
	if err != nil {
		return err
	}
	return serveOn(ctx, listener, b)
}

func serveOn(ctx context.Context, listener net.Listener, b behaviour) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	started := time.Now()
	handler := http.NewServeMux()
	handler.HandleFunc("/", func(writer http.ResponseWriter, _ *http.Request) {
		time.Sleep(b.answerTime)
		fmt.Fprintln(writer, b.version, host)
	})
	handler.HandleFunc("/healthz", func(writer http.ResponseWriter, _ *http.Request) {
		if b.unhealthy > 0 && time.Since(started) > b.unhealthy {
			http.Error(writer, "unhealthy as told", http.StatusInternalServerError)
		}
	})
	server := http.Server{Handler: handler}
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- server.Shutdown(context.Background())
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
