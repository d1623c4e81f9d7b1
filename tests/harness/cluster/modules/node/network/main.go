// network is the cluster's network in its simplest form: on each node it writes the CNI configuration for the node's
// own range of pod addresses, keeps a route to every other node's range, and masquerades what leaves the pod network.
// It runs as a DaemonSet in the host network, with `ip` and `iptables` beside it.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	every   = 3 * time.Second
)

const configuration = `{
  "cniVersion": "1.0.0",
  "name": "network",
  "plugins": [
    {"type": "ptp", "ipMasq": false, "mtu": 1500,
     "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam-state",
              "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": %q}]]}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

type node struct {
	Metadata struct{ Name string }
	Spec     struct{ PodCIDR string }
	Status   struct {
		Addresses []struct{ Type, Address string }
	}
}

func main() {
	log.SetFlags(log.Ltime)
	self, podNetwork := os.Getenv("NODE_NAME"), os.Getenv("POD_SUBNET")
	for ; ; time.Sleep(every) {
		if err := keep(self, podNetwork); err != nil {
			log.Print(err)
		}
	}
}

// keep makes this node's network what the list of nodes says.
func keep(self, podNetwork string) error {
	nodes, err := listNodes()
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, other := range nodes {
		switch {
		case other.Spec.PodCIDR == "":
			continue
		case other.Metadata.Name == self:
			err = writeConfiguration(fmt.Sprintf(configuration, other.Spec.PodCIDR))
		default:
			err = run("ip", "route", "replace", other.Spec.PodCIDR, "via", internalAddress(other))
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", other.Metadata.Name, err)
		}
	}
	return masquerade(podNetwork)
}

// listNodes asks the API server, as the ServiceAccount of the pod; its token is renewed in the file.
func listNodes() ([]node, error) {
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}
	client := http.Client{Timeout: 10 * time.Second, Transport: transport}
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodGet, "https://"+server+"/api/v1/nodes", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %s", answer.Status)
	}
	var list struct{ Items []node }
	err = json.NewDecoder(answer.Body).Decode(&list)
	return list.Items, err
}

func internalAddress(n node) string {
	for _, one := range n.Status.Addresses {
		if one.Type == "InternalIP" {
			return one.Address
		}
	}
	return ""
}

// writeConfiguration replaces the file in one step, and only when it differs: containerd watches the folder.
func writeConfiguration(text string) error {
	const file = "/etc/cni/net.d/10-network.conflist"
	if old, err := os.ReadFile(file); err == nil && string(old) == text {
		return nil
	}
	partial := filepath.Join(filepath.Dir(file), ".10-network.partial")
	if err := os.WriteFile(partial, []byte(text), 0o644); err != nil {
		return err
	}
	log.Print("writing ", file)
	return os.Rename(partial, file)
}

func masquerade(podNetwork string) error {
	rule := []string{"POSTROUTING", "-s", podNetwork, "!", "-d", podNetwork,
		"-m", "comment", "--comment", "network", "-j", "MASQUERADE"}
	if run("iptables", append([]string{"-w", "-t", "nat", "-C"}, rule...)...) == nil {
		return nil
	}
	return run("iptables", append([]string{"-w", "-t", "nat", "-A"}, rule...)...)
}

func run(program string, arguments ...string) error {
	if out, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", program, arguments, err, out)
	}
	return nil
}
