package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// A removed address never answers, so a longer timeout gains nothing. A busy machine answers late, and the longest
// silence shows it.
const (
	connectLimit  = 10 * time.Second
	exchangeLimit = 10 * time.Second
)

// sequence sends requests one by one, either all on one connection or each on a new one. It does not use http.Client,
// which silently sends requests again.
type sequence struct {
	address    string
	request    *http.Request
	reuse      bool
	connection net.Conn
	reader     *bufio.Reader
}

// failure is the reason of a failed request: the step, and the error.
type failure struct {
	step  string
	cause error
	// closed: the server closed the connection before any byte of a response.
	closed bool
}

func (f failure) String() string { return f.step + ": " + f.cause.Error() }

// kind is the failure without addresses and ports.
func (f failure) kind() string {
	cause := f.cause
	for errors.Unwrap(cause) != nil {
		cause = errors.Unwrap(cause)
	}
	return f.step + ": " + cause.Error()
}

// next sends a request and returns the text of the response.
//
// A server may close a kept-alive connection while the next request is in flight. So a client repeats an idempotent
// request on a new connection if it received no byte of a response (RFC 9112, 9.3.1). All common clients do this;
// `resent` reports it.
func (s *sequence) next() (text string, resent bool, failed *failure) {
	reused := s.connection != nil
	text, failed = s.once()
	if reused && failed != nil && failed.closed {
		text, failed = s.once()
		return text, true, failed
	}
	return text, false, failed
}

func (s *sequence) once() (string, *failure) {
	if s.connection == nil {
		connection, err := net.DialTimeout("tcp", s.address, connectLimit)
		if err != nil {
			return "", &failure{step: "connect", cause: err}
		}
		s.connection, s.reader = connection, bufio.NewReader(connection)
	}
	text, keep, failed := s.exchange()
	if failed != nil || !keep || !s.reuse {
		s.close()
	}
	return text, failed
}

func (s *sequence) exchange() (text string, keep bool, failed *failure) {
	_ = s.connection.SetDeadline(time.Now().Add(exchangeLimit))
	if err := s.request.Write(s.connection); err != nil {
		return "", false, &failure{"send", err, !errors.Is(err, os.ErrDeadlineExceeded)}
	}
	if _, err := s.reader.Peek(1); err != nil {
		return "", false, &failure{"wait", err, !errors.Is(err, os.ErrDeadlineExceeded)}
	}
	response, err := http.ReadResponse(s.reader, s.request)
	if err != nil {
		return "", false, &failure{step: "receive", cause: err}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", false, &failure{step: "receive", cause: err}
	}
	if response.StatusCode != http.StatusOK {
		return "", false, &failure{step: "answer", cause: fmt.Errorf("status %d", response.StatusCode)}
	}
	return string(body), !response.Close, nil
}

func (s *sequence) close() {
	if s.connection != nil {
		_ = s.connection.Close()
		s.connection = nil
	}
}
