package main

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// sums is the file with the checksums of all others.
const sums = "SHA256SUMS"

// sign writes the checksums, as sha256sum does, and an OpenPGP signature of them.
func (r *release) sign(keyFile string) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		sum, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sum, e.Name())
	}
	if err := os.WriteFile(filepath.Join(r.out, sums), text.Bytes(), 0o644); err != nil {
		return err
	}
	key, err := r.key(keyFile)
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, sums+".asc"))
	if err != nil {
		return err
	}
	err = openpgp.ArmoredDetachSign(f, key, bytes.NewReader(text.Bytes()), &packet.Config{DefaultHash: crypto.SHA256})
	return errors.Join(err, f.Close())
}

func sumOf(path string) (sum []byte, err error) {
	h := sha256.New()
	err = read(path, func(in io.Reader, _ int64) error {
		_, err := io.Copy(h, in)
		return err
	})
	return h.Sum(nil), err
}

// key reads the key of the release, or makes one that nobody keeps. Its public part goes
// beside the signature then.
func (r *release) key(file string) (*openpgp.Entity, error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		keys, err := openpgp.ReadArmoredKeyRing(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(keys) != 1 || keys[0].PrivateKey == nil || keys[0].PrivateKey.Encrypted {
			return nil, fmt.Errorf("%s must have one secret key, not encrypted", file)
		}
		return keys[0], nil
	}
	key, err := openpgp.NewEntity("sfcore dry run", "this key was thrown away", "", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(r.out, "THROW-AWAY-KEY.asc"))
	if err != nil {
		return nil, err
	}
	w, err := armor.Encode(f, openpgp.PublicKeyType, nil)
	if err != nil {
		return nil, err
	}
	return key, errors.Join(key.Serialize(w), w.Close(), f.Close())
}
