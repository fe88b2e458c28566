// Package cores keeps the cores that hosts were asked for in a bucket of S3 or of what speaks
// its protocol. A core is below the key of its group, under the id of its crash, so that the
// keys of a group are in the order in which the crashes were.
package cores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Suffix is that of the name of a core: it is compressed.
const Suffix = ".core.zst"

// LinkFor is for how long a signed URL holds.
const LinkFor = time.Hour

// ErrNone is for a core that is not there.
var ErrNone = errors.New("there is no such core in the bucket")

// Bucket is a bucket, or what is below a key in it.
type Bucket struct {
	client         *minio.Client
	bucket, prefix string
}

// Open returns the bucket that a URL names: https://SERVER/BUCKET/PREFIX. The keys are in
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It connects to nothing.
func Open(text, region string) (*Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || bucket == "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is no bucket like https://s3.example.org/cores", text)
	}
	transport, err := minio.DefaultTransport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = responseTime
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewEnvAWS(), Secure: u.Scheme == "https", Region: region, Transport: transport, MaxRetries: 3,
		BucketLookup: minio.BucketLookupPath, // so that agents are told one URL, whatever the bucket is called
	})
	if err != nil {
		return nil, err
	}
	return &Bucket{client, bucket, prefix}, nil
}

// responseTime is how long the server may be silent.
const responseTime = 30 * time.Second

func (b *Bucket) key(group, id string) string { return path.Join(b.prefix, group, id) + Suffix }

// PutLink returns a signed URL to which the core of a crash can be put, once or several times.
func (b *Bucket) PutLink(ctx context.Context, group, id string) (string, error) {
	u, err := b.client.PresignedPutObject(ctx, b.bucket, b.key(group, id), LinkFor)
	if err != nil {
		return "", fmt.Errorf("signing a URL: %w", err)
	}
	return u.String(), nil
}

// Link returns a signed URL from which a core can be had.
func (b *Bucket) Link(ctx context.Context, group, id string) (string, error) {
	u, err := b.client.PresignedGetObject(ctx, b.bucket, b.key(group, id), LinkFor, nil)
	if err != nil {
		return "", fmt.Errorf("signing a URL: %w", err)
	}
	return u.String(), nil
}

// Size returns the size of a core, or [ErrNone].
func (b *Bucket) Size(ctx context.Context, group, id string) (int64, error) {
	info, err := b.client.StatObject(ctx, b.bucket, b.key(group, id), minio.StatObjectOptions{})
	if err != nil {
		return 0, none(err)
	}
	return info.Size, nil
}

// Get writes a core of up to most bytes.
func (b *Bucket) Get(ctx context.Context, group, id string, most int64, w io.Writer) error {
	object, err := b.client.GetObject(ctx, b.bucket, b.key(group, id), minio.GetObjectOptions{})
	if err != nil {
		return none(err)
	}
	defer func() { _ = object.Close() }()
	n, err := io.Copy(w, io.LimitReader(object, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("the core has more than %d bytes", most)
	}
	return none(err)
}

func none(err error) error {
	if err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	return err
}

// maxKept bounds the cores of a group that are looked at.
const maxKept = 100000

// Trim removes cores of a group, but for the first and the newest: most of them stay. It
// returns how many were removed.
func (b *Bucket) Trim(ctx context.Context, group string, most int) (removed int, err error) {
	ctx, cancel := context.WithCancel(ctx) // which ends the list, also if this ends before it
	defer cancel()
	var keys []string
	for object := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: path.Join(b.prefix, group) + "/", Recursive: true}) {
		switch {
		case object.Err != nil:
			return 0, fmt.Errorf("listing the cores of a group: %w", object.Err)
		case len(keys) == maxKept:
			return 0, fmt.Errorf("group %s has more than %d cores", group, maxKept)
		case strings.HasSuffix(object.Key, Suffix):
			keys = append(keys, object.Key) // in order, as servers list them
		}
	}
	if most < 1 || len(keys) <= most {
		return 0, nil
	}
	for _, key := range keys[1 : len(keys)-most+1] {
		if err := b.client.RemoveObject(ctx, b.bucket, key, minio.RemoveObjectOptions{}); err != nil {
			return removed, fmt.Errorf("removing %s: %w", key, err)
		}
		removed++
	}
	return removed, nil
}
