package web

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	core "github.com/sfcore/sfcore/internal/testkit"

	"github.com/sfcore/sfcore/cmd/sfcore-fleet/internal/testkit"
)

// What is answered is as the schema in docs/schemas says, and has no other members.
func TestSchema(t *testing.T) {
	core.Published(t, "../../../../docs/schemas/fleet-answer.json", "an answer of sfcore-fleet by HTTP; its pages are as those of crash serve", accepted{}, wellness{}, failure{})
	var unwell error
	s := &Server{
		Publish: func(context.Context, string, string, []byte) error { return unwell },
		Healthy: func(context.Context) error { return unwell },
	}
	message := string(testkit.Encode(t, testkit.Message("web1", 1, "parse")))
	for _, tt := range []struct {
		method, path, body string
		unwell             error
		of                 any
	}{
		{"POST", "/api/v1/crashes", message, nil, accepted{}},
		{"POST", "/api/v1/crashes", message, errors.New("full"), failure{}},
		{"POST", "/api/v1/crashes", "x", nil, failure{}},
		{"GET", "/healthz", "", nil, wellness{}},
		{"GET", "/healthz", "", errors.New("full"), failure{}},
	} {
		unwell = tt.unwell
		r, w := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)), httptest.NewRecorder()
		r.Header.Set("Content-Type", ContentType)
		s.Handler().ServeHTTP(w, r)
		core.NewDocuments(t, tt.of).Check(t, w.Body.String())
	}
}
