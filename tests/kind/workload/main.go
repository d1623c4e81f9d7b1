// Workload is a small HTTP server that behaves as its flags say, and the client that puts load on it.
//
//	workload serve [--version v1] [--never-ready] [--start-after 8s] [--crash-after 1s --exit-code 3 --message TEXT] [--unhealthy-after 8s]
//	workload load [--connections 8] [--connect-to HOST:PORT] URL
//	                                        until SIGTERM; progress and a report as lines of JSON
//	workload get [--connect-to HOST:PORT] URL
//	                                        one request; prints the answer
//	workload resolve NAME                   DNS: prints the canonical name, and then each address
//	workload write [--text TEXT] FILE       writes a line; exit code 1 and the error if it cannot
//	workload read FILE                      prints the file
//	workload stop                           SIGTERM to process 1 of the same container
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		var exit exitError
		if !errors.As(err, &exit) {
			exit = exitError{code: 1, message: err.Error()}
		}
		fmt.Fprintln(os.Stderr, exit.message)
		os.Exit(exit.code)
	}
}

// exitError ends the program with a code of its own.
type exitError struct {
	code    int
	message string
}

func (e exitError) Error() string { return e.message }

func run(arguments []string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	if len(arguments) == 0 {
		arguments = []string{""}
	}
	flags := flag.NewFlagSet(arguments[0], flag.ExitOnError)
	switch arguments[0] {
	case "serve":
		behaviour := serveFlags(flags)
		_ = flags.Parse(arguments[1:])
		return serve(ctx, *behaviour)
	case "load":
		connections := flags.Int("connections", 8, "kept busy at once: half are reused, half are new for each request")
		address := connectTo(flags)
		_ = flags.Parse(arguments[1:])
		return load(ctx, flags.Arg(0), *address, *connections, os.Stdout)
	case "get":
		address := connectTo(flags)
		_ = flags.Parse(arguments[1:])
		return get(flags.Arg(0), *address)
	case "resolve":
		_ = flags.Parse(arguments[1:])
		return lookUp(ctx, flags.Arg(0))
	case "write":
		text := flags.String("text", "written", "the line")
		_ = flags.Parse(arguments[1:])
		return writeFile(flags.Arg(0), *text)
	case "read":
		_ = flags.Parse(arguments[1:])
		return readFile(flags.Arg(0), os.Stdout)
	case "stop":
		return syscall.Kill(1, syscall.SIGTERM)
	}
	return exitError{2, "usage: workload serve|load|get|resolve|write|read|stop"}
}

func lookUp(ctx context.Context, name string) error {
	canonical, err := net.DefaultResolver.LookupCNAME(ctx, name)
	if err != nil {
		return err
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	fmt.Println(canonical)
	slices.Sort(addresses)
	for _, address := range addresses {
		fmt.Println(address)
	}
	return nil
}

func connectTo(flags *flag.FlagSet) *string {
	return flags.String("connect-to", "", "instead of the URL's host: a proxy that serves this host, say")
}

// get prints the response of the URL. It connects to the address, or, without one, to the URL's host.
func get(url, address string) error {
	client := http.Client{Timeout: 5 * time.Second}
	if address != "" {
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		client.Transport = &http.Transport{DialContext: dial}
	}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
