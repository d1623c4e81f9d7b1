// kstatus' verdicts on objects: JSON objects in, one after the other; for each a line with status and message out.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}

func judge(in io.Reader, out io.Writer) error {
	objects, verdicts := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var raw json.RawMessage
		if err := objects.Decode(&raw); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		// Unstructured's own decoder makes whole numbers int64, which is what kstatus looks for.
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		found, err := status.Compute(object)
		if err != nil {
			return err
		}
		verdict := map[string]string{"status": found.Status.String(), "message": found.Message}
		if err := verdicts.Encode(verdict); err != nil {
			return err
		}
	}
}
