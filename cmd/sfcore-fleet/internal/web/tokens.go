package web

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sfcore/sfcore/internal/crash/store"
)

// Right is what a token allows.
type Right string

// The rights.
const (
	Read   Right = "read"   // the page, and the metrics
	Submit Right = "submit" // send crashes
	Scrape Right = "scrape" // the metrics
)

var rights = []Right{Read, Submit, Scrape}

// Tokens are who may do what. The file has a line for each: a name, a right and the SHA-256
// of the token, so that who reads it has no token.
type Tokens struct{ all []token }

type token struct {
	right Right
	hash  [sha256.Size]byte
}

// maxTokens bounds the file, in bytes: 5,000 tokens.
const maxTokens = 1 << 20

// ReadTokens reads a file of tokens.
func ReadTokens(name string) (*Tokens, error) {
	text, err := store.ReadFile(name, maxTokens)
	if err != nil {
		return nil, err
	}
	t := new(Tokens)
	in := bufio.NewScanner(bytes.NewReader(text))
	for line := 1; in.Scan(); line++ {
		fields := strings.Fields(in.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		one := token{}
		if len(fields) == 3 {
			one.right = Right(fields[1])
		}
		hash, err := hex.DecodeString(fields[len(fields)-1])
		if len(fields) != 3 || err != nil || len(hash) != sha256.Size || !slices.Contains(rights, one.right) {
			return nil, fmt.Errorf("%s:%d: a line has a name, a right (read, submit or scrape) and a SHA-256; sfcore-fleet token prints one", name, line)
		}
		copy(one.hash[:], hash)
		t.all = append(t.all, one)
	}
	return t, in.Err()
}

// NewToken makes a token, and the line of the file for it.
func NewToken(name string, right Right) (secret, line string, err error) {
	if name == "" || len(strings.Fields(name)) != 1 || strings.HasPrefix(name, "#") {
		return "", "", fmt.Errorf("%q: a name without spaces is needed", name)
	}
	if !slices.Contains(rights, right) {
		return "", "", fmt.Errorf("%q: the rights are read, submit and scrape", right)
	}
	secret = "sft_" + rand.Text()
	sum := sha256.Sum256([]byte(secret))
	return secret, fmt.Sprintf("%s %s %x", name, right, sum), nil
}

// allows reports whether who asks has a right.
func (t *Tokens) allows(r *http.Request, right Right) bool {
	if t == nil {
		return true
	}
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, secret, ok = r.BasicAuth()
	}
	if !ok || secret == "" {
		return false
	}
	sum, found := sha256.Sum256([]byte(secret)), 0
	for i := range t.all {
		if has := t.all[i].right; has == right || has == Read && right == Scrape {
			found |= subtle.ConstantTimeCompare(sum[:], t.all[i].hash[:])
		}
	}
	return found == 1
}
