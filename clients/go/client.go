// Package webhooks is a client of stagger's webhook dispatcher: it sends messages once, retries within a budget, and verifies
// signatures.
package webhooks

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	retryShare = 0.1
	retryBurst = 10.0

	baseDelay    = 200 * time.Millisecond
	longestDelay = 10 * time.Second
)

// Client is a dispatcher and a key to it: that of an application, of an operator, or the admin key. Goroutines may share a
// client; they share its retry budget too.
type Client struct {
	// HTTP makes the requests. Default: 30 s for an attempt, no redirects.
	HTTP *http.Client
	// MaxAttempts is the most attempts of a call. Default: 4.
	MaxAttempts int
	// MaxWait is the longest wait before an attempt, also if Retry-After asks for more. Default: 60 s.
	MaxWait time.Duration

	base   string
	key    string
	budget RetryBudget
	sleep  func(context.Context, time.Duration) error
}

// NewClient makes a client of the dispatcher at an address.
func NewClient(address, key string) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("address = %s: must be an http or https address", address)
	}
	// A redirect is a refusal: the key goes nowhere else.
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		HTTP:        &http.Client{Timeout: 30 * time.Second, CheckRedirect: noRedirects},
		MaxAttempts: 4,
		MaxWait:     time.Minute,
		base:        strings.TrimRight(address, "/"),
		key:         key,
		budget:      RetryBudget{tokens: retryBurst},
		sleep:       sleep,
	}, nil
}

// APIError is a refusal of the dispatcher.
type APIError struct {
	// Status is that of the reply.
	Status int
	// Problem is the document of the refusal (RFC 9457), as far as there is one.
	Problem Problem
	// RetryAfter is the time for which the dispatcher asks not to be called.
	RetryAfter time.Duration
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%d: %s", e.Status, e.Problem.Detail)
}

// RetryBudget keeps retries few: a tenth of the requests, and a few more at first.
type RetryBudget struct {
	mutex  sync.Mutex
	tokens float64
}

func (b *RetryBudget) onCall() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.tokens += retryShare
	if b.tokens > retryBurst {
		b.tokens = retryBurst
	}
}

func (b *RetryBudget) take() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// call is a request of the API.
type call struct {
	method, path string
	query        url.Values
	json         any
	bytes        []byte
	contentType  string
	takesKey     bool
	key          string
}

func (c *Client) doJSON(ctx context.Context, call call, reply any) error {
	data, err := c.do(ctx, call)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, reply)
}

// do makes a call, which is repeated where that is safe and can help.
func (c *Client) do(ctx context.Context, call call) ([]byte, error) {
	body := call.bytes
	if call.json != nil {
		var err error
		if body, err = json.Marshal(call.json); err != nil {
			return nil, err
		}
		call.contentType = "application/json"
	}
	if call.takesKey && call.key == "" {
		var random [16]byte
		if _, err := rand.Read(random[:]); err != nil {
			return nil, err
		}
		call.key = hex.EncodeToString(random[:])
	}
	// A message under a key is one message, however often it is sent.
	repeatable := call.takesKey || call.method == http.MethodGet || call.method == http.MethodDelete ||
		call.method == http.MethodPut || call.method == http.MethodHead
	c.budget.onCall()
	for attempt := 1; ; attempt++ {
		data, err := c.attempt(ctx, call, body)
		if err == nil || ctx.Err() != nil {
			return data, err
		}
		delay, again := c.delay(err, attempt, repeatable)
		if !again {
			return nil, err
		}
		if c.sleep(ctx, delay) != nil {
			return nil, err
		}
	}
}

// delay is the wait before the next attempt, if there is one.
func (c *Client) delay(err error, attempt int, repeatable bool) (time.Duration, bool) {
	canHelp, hint := repeatable, time.Duration(0)
	var refusal *APIError
	if errors.As(err, &refusal) {
		hint = refusal.RetryAfter
		switch refusal.Status {
		case http.StatusTooManyRequests:
			// It says that nothing was done.
			canHelp = true
		case 500, 502, 503, 504:
		default:
			canHelp = false
		}
	}
	if !canHelp || attempt >= c.MaxAttempts {
		return 0, false
	}
	ceiling := longestDelay
	if attempt < 10 && baseDelay<<(attempt-1) < longestDelay {
		ceiling = baseDelay << (attempt - 1)
	}
	delay := hint + time.Duration(mathrand.Int63n(int64(ceiling)+1))
	if delay > c.MaxWait || !c.budget.take() {
		return 0, false
	}
	return delay, true
}

func (c *Client) attempt(ctx context.Context, call call, body []byte) ([]byte, error) {
	target := c.base + call.path
	if query := call.query.Encode(); query != "" {
		target += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", call.contentType)
	}
	if call.key != "" {
		request.Header.Set("Idempotency-Key", call.key)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return data, nil
	}
	refusal := &APIError{Status: response.StatusCode}
	if json.Unmarshal(data, &refusal.Problem) != nil {
		refusal.Problem = Problem{Detail: "no reason is given"}
	}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		refusal.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil, refusal
}

func sleep(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
