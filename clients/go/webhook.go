package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tolerance is how far the timestamp may be from the receiver's clock.
const tolerance = 5 * time.Minute

// ErrSignature is the reason of all messages that are not accepted.
var ErrSignature = errors.New("webhook not verified")

// Webhook verifies received messages: Standard Webhooks 1.0.0, HMAC-SHA256 ("v1").
type Webhook struct {
	keys [][]byte
}

// NewWebhook takes the secrets of an endpoint, "whsec_" and base64: one, or several while one is replaced.
func NewWebhook(secrets ...string) (*Webhook, error) {
	if len(secrets) == 0 {
		return nil, errors.New("secrets = []: must be at least one")
	}
	var webhook Webhook
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || !strings.HasPrefix(secret, "whsec_") {
			return nil, errors.New("secret = (not shown): must be whsec_ and base64")
		}
		webhook.keys = append(webhook.keys, key)
	}
	return &webhook, nil
}

// Verify checks a message by the bytes of its body as received and by its headers.
func (w *Webhook) Verify(body []byte, header http.Header) error {
	return w.VerifyAt(body, header, time.Now())
}

// VerifyAt is Verify at another time.
func (w *Webhook) VerifyAt(body []byte, header http.Header, now time.Time) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseUint(timestamp, 10, 62)
	if err != nil {
		return failure{"webhook-timestamp is not a number of seconds"}
	}
	if off := now.Sub(time.Unix(int64(seconds), 0)); off > tolerance || off < -tolerance {
		return failure{"webhook-timestamp is more than 300 s off"}
	}
	for _, part := range strings.Split(header.Get("webhook-signature"), " ") {
		if !strings.HasPrefix(part, "v1,") {
			continue
		}
		given, err := base64.StdEncoding.DecodeString(part[len("v1,"):])
		if err != nil {
			continue
		}
		for _, key := range w.keys {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(id + "." + timestamp + "."))
			mac.Write(body)
			if hmac.Equal(mac.Sum(nil), given) {
				return nil
			}
		}
	}
	return failure{"no signature fits"}
}

// failure is an ErrSignature with its reason.
type failure struct{ reason string }

func (f failure) Error() string { return ErrSignature.Error() + ": " + f.reason }

func (f failure) Unwrap() error { return ErrSignature }
