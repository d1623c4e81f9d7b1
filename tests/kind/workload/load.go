package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	pauseAfterFailure = 100 * time.Millisecond
	failuresKept      = 20
)

// load keeps the connections to the URL busy until the context ends, and then waits for pending responses. It writes a
// line of JSON each second, and a final report. It connects to the address, or, without one, to the URL's host. It
// resolves the host's name once: a Service's address does not change, and the test does not measure DNS.
func load(ctx context.Context, url, address string, connections int, output io.Writer) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if address == "" {
		if address, err = resolve(request); err != nil {
			return err
		}
	}
	tally := newTally()
	var clients sync.WaitGroup
	for number := range connections {
		reuse := number%2 == 0
		clients.Go(func() {
			s := sequence{address: address, request: request, reuse: reuse}
			defer s.close()
			for ctx.Err() == nil {
				text, resent, failed := s.next()
				tally.add(reuse, text, resent, failed)
				if failed != nil {
					time.Sleep(pauseAfterFailure)
				}
			}
		})
	}
	lines := json.NewEncoder(output)
	tell := time.NewTicker(time.Second)
	defer tell.Stop()
	for ctx.Err() == nil {
		select {
		case <-tell.C:
			_ = lines.Encode(map[string]any{"progress": tally.takeSecond()})
		case <-ctx.Done():
		}
	}
	clients.Wait()
	report := tally.finish()
	_ = lines.Encode(map[string]any{"report": report})
	if failed := report.Reused.Failed + report.New.Failed; failed > 0 {
		return fmt.Errorf("%d requests failed", failed)
	}
	return nil
}

func resolve(request *http.Request) (string, error) {
	if request.URL.Scheme != "http" || request.URL.Hostname() == "" {
		return "", exitError{2, "not http://HOST[:PORT]/PATH: " + request.URL.String()}
	}
	port := request.URL.Port()
	if port == "" {
		port = "80"
	}
	address, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(request.URL.Hostname(), port))
	if err != nil {
		return "", err
	}
	return address.String(), nil
}

// counts are the counts of one type of connections.
type counts struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	Resent   int `json:"resent"`
}

// second has the counts since the previous line.
type second struct {
	Requests int            `json:"requests"`
	Failed   int            `json:"failed"`
	Versions map[string]int `json:"versions"`
}

// failedRequest is one failed request.
type failedRequest struct {
	At         time.Time `json:"at"`
	Connection string    `json:"connection"`
	Error      string    `json:"error"`
}

// report is the result of a load. Kinds counts all failures, Failures has the first ones, and Answered counts responses
// by version and host. SilenceMilliseconds is the longest time without a response.
type report struct {
	Seconds             float64         `json:"seconds"`
	Reused              counts          `json:"reused"`
	New                 counts          `json:"new"`
	Kinds               map[string]int  `json:"kinds"`
	Failures            []failedRequest `json:"failures"`
	Answered            map[string]int  `json:"answered"`
	SilenceMilliseconds int64           `json:"silenceMilliseconds"`
}

// tally counts for several concurrent clients.
type tally struct {
	lock    sync.Mutex
	started time.Time
	last    time.Time
	second  second
	report  report
}

func newTally() *tally {
	now := time.Now()
	return &tally{
		started: now,
		last:    now,
		second:  second{Versions: map[string]int{}},
		report:  report{Kinds: map[string]int{}, Failures: []failedRequest{}, Answered: map[string]int{}},
	}
}

func (t *tally) add(reuse bool, text string, resent bool, failed *failure) {
	t.lock.Lock()
	defer t.lock.Unlock()
	of, connection := &t.report.New, "new"
	if reuse {
		of, connection = &t.report.Reused, "reused"
	}
	of.Requests++
	t.second.Requests++
	if resent {
		of.Resent++
	}
	if failed != nil {
		of.Failed++
		t.second.Failed++
		t.addFailure(connection, *failed)
		return
	}
	t.answered(text)
}

func (t *tally) addFailure(connection string, f failure) {
	t.report.Kinds[f.kind()]++
	if len(t.report.Failures) < failuresKept {
		t.report.Failures = append(t.report.Failures, failedRequest{time.Now().UTC(), connection, f.String()})
	}
}

func (t *tally) answered(text string) {
	who := strings.TrimSpace(text)
	version, _, _ := strings.Cut(who, " ")
	t.report.Answered[who]++
	t.second.Versions[version]++
	t.rest(time.Now())
}

func (t *tally) rest(now time.Time) {
	t.report.SilenceMilliseconds = max(t.report.SilenceMilliseconds, now.Sub(t.last).Milliseconds())
	t.last = now
}

func (t *tally) takeSecond() second {
	t.lock.Lock()
	defer t.lock.Unlock()
	taken := t.second
	t.second = second{Versions: map[string]int{}}
	return taken
}

func (t *tally) finish() report {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.rest(time.Now())
	t.report.Seconds = time.Since(t.started).Seconds()
	return t.report
}
