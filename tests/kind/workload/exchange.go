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

// An address that nobody has any more is never answered, however long one waits. A machine that is busy with something
// else answers late, which the longest silence tells.
const (
	connectLimit  = 10 * time.Second
	exchangeLimit = 10 * time.Second
)

// sequence sends one request after the other, either all on one connection or each on a new one. It is no http.Client,
// since that one sends requests again without a word.
type sequence struct {
	address    string
	request    *http.Request
	reuse      bool
	connection net.Conn
	reader     *bufio.Reader
}

// failure is why a request got no good answer: at which step, and what happened.
type failure struct {
	step  string
	cause error
	// closed: the other side closed the connection before any byte of an answer.
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

// next sends a request and returns the answer's text.
//
// A server may close a connection that it keeps alive just when the next request is on its way. A client has to expect
// that, and sends a request that may be repeated again, on a new connection, if no byte of an answer came
// (RFC 9112, 9.3.1). All ordinary clients do; `resent` tells of it.
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
