package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestAWrittenFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "greeting")
	if err := writeFile(path, "hello"); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	if err := readFile(path, &output); err != nil || output.String() != "hello\n" {
		t.Errorf("read %q, %v", output.String(), err)
	}
}

func TestAFailedWriteNamesThePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "greeting")
	if err := writeFile(path, "hello"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the error should name %s: %v", path, err)
	}
}
