package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/core"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
)

// errorDomain is the domain of the reasons that errors have [google.rpc.ErrorInfo].
const errorDomain = "sfcore"

// reasonPrefix is how the names of reasons begin in the protocol.
const reasonPrefix = "ERROR_REASON_"

// fail returns an error of a call: its code in the first version of the protocol, and its
// reason in the second.
func fail(reason protov2.ErrorReason, code codes.Code, format string, args ...any) error {
	s := status.New(code, text(fmt.Sprintf(format, args...)))
	info := &errdetails.ErrorInfo{Reason: strings.TrimPrefix(reason.String(), reasonPrefix), Domain: errorDomain}
	if detailed, err := s.WithDetails(info); err == nil {
		s = detailed
	}
	return s.Err()
}

// invalid returns an error for a request that makes no sense.
func invalid(format string, args ...any) error {
	return fail(protov2.ErrorReason_ERROR_REASON_INVALID_REQUEST, codes.InvalidArgument, format, args...)
}

// noSession returns an error for a session that the connection does not have.
func noSession(id uint64) error {
	return fail(protov2.ErrorReason_ERROR_REASON_UNKNOWN_SESSION, codes.NotFound, "the connection has no session %d", id)
}

var errClosed = fail(protov2.ErrorReason_ERROR_REASON_SESSION_CLOSED, codes.NotFound, "the session was closed")

// fileChanged is an error for a file that became shorter during a call.
func fileChanged(err error) error {
	return fail(protov2.ErrorReason_ERROR_REASON_FILE_CHANGED, codes.FailedPrecondition, "%v", err)
}

// hostError is an error of a host's method, or of its answer.
func hostError(method string, err error) error {
	reason, why := protov2.ErrorReason_ERROR_REASON_HOST_FAILED, err.Error()
	if s, ok := status.FromError(err); ok {
		why = s.Message()
	}
	if errors.Is(err, errHostTime) || errors.Is(err, errHostList) || status.Code(err) == codes.DeadlineExceeded {
		reason = protov2.ErrorReason_ERROR_REASON_HOST_SILENT
	}
	return fail(reason, codes.Unavailable, "the host's %s: %s", method, why)
}

// unreachable is an error for a host's server that cannot be called.
func unreachable(id uint32, err error) error {
	return fail(protov2.ErrorReason_ERROR_REASON_HOST_UNREACHABLE, codes.Unavailable, "the host's connection %d: %v", id, err)
}

// openError gives an error of Open the code and the reason that the protocol says.
func openError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case status.Code(err) != codes.Unknown:
		return err
	case errors.Is(err, core.ErrNoProcess):
		return fail(protov2.ErrorReason_ERROR_REASON_PROCESS_NOT_FOUND, codes.NotFound, "%v", err)
	case errors.Is(err, core.ErrDenied):
		return fail(protov2.ErrorReason_ERROR_REASON_DENIED, codes.PermissionDenied, "%v", err)
	case errors.Is(err, fs.ErrNotExist):
		return fail(protov2.ErrorReason_ERROR_REASON_FILE_NOT_FOUND, codes.FailedPrecondition, "%v", err)
	case errors.Is(err, fs.ErrPermission):
		return fail(protov2.ErrorReason_ERROR_REASON_DENIED, codes.FailedPrecondition, "%v", err)
	}
	return fail(protov2.ErrorReason_ERROR_REASON_FILE_UNUSABLE, codes.FailedPrecondition, "%v", err)
}

// secondCodes are the codes that the second version of the protocol has for reasons
// where the first has another.
var secondCodes = map[protov2.ErrorReason]codes.Code{
	protov2.ErrorReason_ERROR_REASON_HOST_UNREACHABLE: codes.FailedPrecondition,
	protov2.ErrorReason_ERROR_REASON_HOST_SILENT:      codes.FailedPrecondition,
	protov2.ErrorReason_ERROR_REASON_HOST_FAILED:      codes.FailedPrecondition,
	protov2.ErrorReason_ERROR_REASON_FILE_NOT_FOUND:   codes.NotFound,
	protov2.ErrorReason_ERROR_REASON_DENIED:           codes.PermissionDenied,
}

// inVersion returns an error as the version of the protocol has it that a method is of.
func inVersion(method string, err error) error {
	if err == nil || !strings.HasPrefix(method, secondMethods) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	code, ok := secondCodes[reasonOf(s)]
	if !ok || code == s.Code() {
		return err
	}
	p := s.Proto()
	p.Code = int32(code)
	return status.FromProto(p).Err()
}

// reasonOf returns the reason of a status; 0 if it has none.
func reasonOf(s *status.Status) protov2.ErrorReason {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return protov2.ErrorReason(protov2.ErrorReason_value[reasonPrefix+info.GetReason()])
		}
	}
	return protov2.ErrorReason_ERROR_REASON_UNSPECIFIED
}

// Reason returns why a call failed; 0, UNSPECIFIED, for errors that the plugin did not
// give, such as those of a connection or a context that ended.
func Reason(err error) protov2.ErrorReason {
	if s, ok := status.FromError(err); ok {
		return reasonOf(s)
	}
	return protov2.ErrorReason_ERROR_REASON_UNSPECIFIED
}
