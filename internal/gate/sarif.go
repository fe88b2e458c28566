package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/display"
	"github.com/sfcore/sfcore/sframe"
)

// The part of SARIF that is used [SARIF 2.1.0].
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string      `json:"id"`
		Short         sarifText   `json:"shortDescription"`
		Configuration sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Baseline     string             `json:"baselineState,omitempty"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Occurrences  int                `json:"occurrenceCount"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Address  *sarifAddress `json:"address,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifAddress struct {
		Absolute uint64 `json:"absoluteAddress"`
		Kind     string `json:"kind"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// sarif writes the report as SARIF, for services that show results of analyses.
// Findings that do not fail are notes, or suppressed with the reason of the allow-list.
func (r *Report) sarif(w io.Writer) error {
	run := sarifRun{ColumnKind: "utf16CodeUnits", Results: []sarifResult{}, Invocations: []sarifInvocation{{Successful: len(r.Unread) == 0}}}
	run.Tool.Driver = sarifDriver{Name: "sfcore sframe gate", Version: r.Version}
	for _, u := range r.unread() {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifText{u}})
	}
	index := r.sarifRules(&run.Tool.Driver)
	for _, v := range r.Verdicts {
		for i := range v.Judged {
			run.Results = append(run.Results, v.sarifResult(&v.Judged[i], index))
		}
	}
	log := sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}}
	text, err := json.MarshalIndent(&log, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(display.JSON(text), '\n'))
	return err
}

// sarifRules lists the kinds of findings that there are, and returns the index of each.
func (r *Report) sarifRules(d *sarifDriver) map[string]int {
	levels := map[string]sframe.Severity{}
	for _, v := range r.Verdicts {
		for i := range v.Judged {
			f := &v.Judged[i]
			if level, ok := levels[f.ID]; !ok || f.Severity < level {
				levels[f.ID] = f.Severity
			}
		}
	}
	meanings, index := Meanings(), map[string]int{}
	d.Rules = []sarifRule{}
	for _, id := range slices.Sorted(maps.Keys(levels)) {
		index[id] = len(d.Rules)
		d.Rules = append(d.Rules, sarifRule{id, sarifText{meanings[id]}, sarifConfig{levels[id].String()}})
	}
	return index
}

func (v *Verdict) sarifResult(f *Judged, index map[string]int) sarifResult {
	res := sarifResult{
		RuleID: f.ID, RuleIndex: index[f.ID], Level: f.Severity.String(), Message: sarifText{f.sentence()}, Occurrences: f.Count,
		Fingerprints: map[string]string{"sfcore/1": fingerprint(v.Name, f.ID, f.Function, f.Field)},
	}
	at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{fileURI(v.Path)}}}
	if f.Addr != 0 && f.Addr < 1<<63 { // the schema's integers are signed in many readers
		at.Physical.Address = &sarifAddress{f.Addr, "function"}
	}
	if f.Function != "" {
		at.Logical = []sarifLogical{{f.Function, "function"}}
	}
	res.Locations = []sarifLocation{at}
	switch f.State {
	case New:
		res.Baseline = "new"
	case Unchanged:
		res.Baseline = "unchanged"
	case Excused:
		res.Suppressions = []sarifSuppression{{"external", f.Reason}}
	case Minor:
	}
	return res
}

// fileURI writes a path as a reference: relative paths stay relative, so that services
// find the file in the repository.
func fileURI(name string) string {
	u := url.URL{Path: path.Clean(strings.ReplaceAll(name, "\\", "/"))}
	if path.IsAbs(u.Path) {
		u.Scheme = "file"
	}
	return u.String()
}

// fingerprint joins what makes findings the same in two builds.
func fingerprint(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}
