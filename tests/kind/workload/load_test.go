package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// underLoad loads the URL while `change` runs, and returns the report.
func underLoad(t *testing.T, url string, change func()) report {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, func() {
		change()
		time.AfterFunc(300*time.Millisecond, cancel)
	})
	var output bytes.Buffer
	_ = load(ctx, url, "", 8, &output)
	lines := bytes.Split(bytes.TrimSpace(output.Bytes()), []byte("\n"))
	var last struct{ Report report }
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", last.Report)
	return last.Report
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// answering responds to each connection's requests with `answer`, and then calls `after`.
func answering(t *testing.T, answer string, after func(net.Conn) (more bool)) string {
	listener := listen(t)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				reader := bufio.NewReader(connection)
				for more := true; more; more = after(connection) {
					if _, err := http.ReadRequest(reader); err != nil {
						return
					}
					fmt.Fprint(connection, answer)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nv1 me\n"

func TestAServerThatStaysFailsNothing(t *testing.T) {
	url := answering(t, good, func(net.Conn) bool { return true })
	r := underLoad(t, url, func() {})
	if r.Reused.Requests == 0 || r.New.Requests == 0 || r.Reused.Failed+r.New.Failed+r.Reused.Resent > 0 {
		t.Error("both sorts of connections should have been answered, at the first attempt")
	}
	if r.Answered["v1 me"] != r.Reused.Requests+r.New.Requests {
		t.Error("each answer should be counted")
	}
}

func TestAClosedReusedConnectionIsCountedApart(t *testing.T) {
	url := answering(t, good, func(net.Conn) bool { return false })
	r := underLoad(t, url, func() {})
	if r.Reused.Resent == 0 || r.New.Resent != 0 || r.Reused.Failed+r.New.Failed != 0 {
		t.Error("only reused connections should have had to send again, and nothing should have failed")
	}
}

func TestEachFailureIsCounted(t *testing.T) {
	for kind, answer := range map[string]string{
		"wait: EOF":               "",
		"answer: status 503":      "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
		"receive: unexpected EOF": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nv1",
	} {
		url := answering(t, answer, func(net.Conn) bool { return false })
		r := underLoad(t, url, func() {})
		failed := r.Reused.Failed + r.New.Failed
		if failed == 0 || r.Kinds[kind] != failed || failed != r.Reused.Requests+r.New.Requests {
			t.Errorf("%s: all should have failed so", kind)
		}
	}
}

func TestAServerThatIsKilledFailsRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond)
		fmt.Fprintln(writer, "v1 me")
	}))
	r := underLoad(t, server.URL, func() {
		_ = server.Listener.Close()
		server.CloseClientConnections()
	})
	if r.New.Failed == 0 || r.Reused.Failed == 0 || r.Kinds["connect: connection refused"] == 0 {
		t.Error("both sorts of connections should have failed")
	}
}
