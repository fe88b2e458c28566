package queue

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Account is what the account of a fleet is called on a server of its own.
const Account = "SFCORE"

// Accounts makes the seeds of nkeys in a directory, of each role and of the agent of each host,
// where there are none, and returns what servers of NATS have to include in their configuration
// to know them: an account with the rights of each. An agent can send as its host only.
func Accounts(dir string, hosts []string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by sfcore-fleet keys, for the configuration of nats-server: include %q\n", AccountsFile)
	fmt.Fprintf(&b, "max_payload: %d\naccounts {\n  %s {\n    jetstream: enabled\n    users: [\n", message.MaxSize+4096, Account)
	user := func(file string, role Role, host string) error {
		public, err := MakeSeed(file)
		if err != nil {
			return err
		}
		publish, subscribe := role.Rights(host)
		fmt.Fprintf(&b, "      # %s\n      {nkey: %s, permissions: {publish: {allow: %s}, subscribe: {allow: %s}}}\n",
			filepath.Base(file), public, list(publish), list(subscribe))
		return nil
	}
	for _, role := range []Role{RoleWorker, RoleOperator, RoleFetch, RoleSubmit} {
		if err := user(filepath.Join(dir, string(role)+".seed"), role, ""); err != nil {
			return "", err
		}
	}
	for _, host := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
		if !message.ValidHost(host) {
			return "", fmt.Errorf("%q is no name of a host: letters in lower case, digits, dashes and dots", host)
		}
		if err := user(filepath.Join(dir, "agent-"+host+".seed"), RoleAgent, host); err != nil {
			return "", err
		}
	}
	b.WriteString("    ]\n  }\n}\n")
	return b.String(), nil
}

// AccountsFile is what the file is called that servers include.
const AccountsFile = "sfcore-accounts.conf"

// list is a list of subjects, as the configuration of a server has it. Subjects have no
// quotation marks.
func list(subjects []string) string { return `["` + strings.Join(subjects, `", "`) + `"]` }
