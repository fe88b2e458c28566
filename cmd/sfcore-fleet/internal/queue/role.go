package queue

import (
	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/message"
)

// Role is what a client may do.
type Role string

// The roles. On an embedded server each has an nkey of its own.
const (
	RoleSubmit   Role = "submit"   // send crashes
	RoleAgent    Role = "agent"    // and learn which kinds are known, and be asked for cores
	RoleWorker   Role = "worker"   // take crashes, bury messages, make kinds known
	RoleOperator Role = "operator" // look at dead messages and send them again
	RoleFetch    Role = "fetch"    // ask hosts for cores
)

// Roles are all roles.
var Roles = []Role{RoleSubmit, RoleAgent, RoleWorker, RoleOperator, RoleFetch}

// Prefix is before the subjects of answers to a role, of a host if that is not "". The server
// keeps others from listening to them.
func (r Role) Prefix(host string) string {
	prefix := "_INBOX_" + string(r)
	if host != "" {
		prefix += "." + message.Token(host)
	}
	return prefix
}

// Rights are to what a role may publish and subscribe, and nothing else: as a certain host, or
// as any if that is "". docs/fleet.md lists them.
func (r Role) Rights(host string) (publish, subscribe []string) {
	as := "*"
	if host != "" {
		as = message.Token(host)
	}
	crashes := []string{"sfcore.*." + message.KindCrash + "." + as, "sfcore.*." + message.KindCount + "." + as}
	subscribe = []string{r.Prefix(host) + ".>"}
	switch r {
	case RoleSubmit:
		return crashes, subscribe
	case RoleAgent:
		return append(crashes, knownGet, fetchedSubject(as, "*")), append(subscribe, knownSubjects, fetchSubject(as))
	case RoleWorker:
		for _, stream := range []string{Stream, DeadStream, knownStream} {
			publish = append(publish, "$JS.API.STREAM.CREATE."+stream, "$JS.API.STREAM.INFO."+stream)
		}
		return append(publish, "$JS.API.INFO", "$JS.API.STREAM.PURGE."+Stream, "$JS.API.CONSUMER.INFO."+Stream+".>", "$JS.API.CONSUMER.CREATE."+Stream+".>", "$JS.API.CONSUMER.MSG.NEXT."+Stream+".>", "$JS.ACK."+Stream+".>",
			deadPrefix+">", knownSubjects, knownGet, knownGet+".>"), append(subscribe, knownSubjects)
	case RoleOperator:
		for _, stream := range []string{Stream, DeadStream} {
			publish = append(publish, "$JS.API.STREAM.INFO."+stream)
		}
		return append(append(publish, crashes...), "$JS.API.STREAM.MSG.GET."+DeadStream, "$JS.API.STREAM.MSG.DELETE."+DeadStream,
			"$JS.API.DIRECT.GET."+DeadStream, "$JS.API.DIRECT.GET."+DeadStream+".>"), subscribe
	case RoleFetch:
		return []string{fetchSubject("*")}, append(subscribe, fetchedSubject("*", "*"))
	}
	return nil, nil
}
