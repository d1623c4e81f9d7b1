package main

import (
	"io"
	"os"
)

// writeFile writes a line to a file, and creates the file if it does not exist. It creates no directory.
func writeFile(path, line string) error {
	return os.WriteFile(path, []byte(line+"\n"), 0o644)
}

// readFile copies a file to the output.
func readFile(path string, output io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(output, file)
	return err
}
