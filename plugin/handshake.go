package plugin

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	// envVersions has the versions of the protocol that the host speaks.
	envVersions = "PLUGIN_PROTOCOL_VERSIONS"
	// envCert has the host's certificate, if it asks for TLS.
	envCert = "PLUGIN_CLIENT_CERT"
)

// checkHost returns what is wrong with what the host asks for. go-plugin would serve it
// what it does not speak, or what it cannot connect to.
func checkHost() error {
	if list := os.Getenv(envVersions); list != "" && !commonVersion(list) {
		return fmt.Errorf("the host speaks version %s of the plugin protocol, and this plugin %s: install a host and an sfcore that go together",
			strings.ReplaceAll(list, ",", ", "), spoken())
	}
	if cert := os.Getenv(envCert); cert != "" {
		block, _ := pem.Decode([]byte(cert))
		if block == nil {
			return errors.New(envCert + " is not a certificate in PEM")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("%s: %w", envCert, err)
		}
	}
	return nil
}

// commonVersion reports whether a list has a version that the plugin speaks.
func commonVersion(list string) bool {
	for text := range strings.SplitSeq(list, ",") {
		if v, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && slices.Contains(protocolVersions, v) {
			return true
		}
	}
	return false
}

// spoken names the versions that the plugin speaks: "1 and 2".
func spoken() string {
	var list []string
	for _, v := range protocolVersions {
		list = append(list, strconv.Itoa(v))
	}
	return strings.Join(list, " and ")
}
