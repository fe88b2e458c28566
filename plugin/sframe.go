package plugin

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/sfcore/sfcore/plugin/proto"
	protov2 "github.com/sfcore/sfcore/plugin/proto/v2"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/sframe"
)

// maxRows bounds the rows of a message; one takes up to some 100 bytes.
const maxRows = 4096

// DumpSFrame implements proto.PluginServer.
func (*service) DumpSFrame(req *proto.DumpSFrameRequest, out grpc.ServerStreamingServer[proto.SFrameFunction]) error {
	return dumpSFrame(out.Context(), req.GetSession(), req.GetAddress(), func(f *sframe.Func, rows []sframeRow, problem string) error {
		m := &proto.SFrameFunction{Problem: problem}
		if f != nil {
			m = functionHead(f)
			m.Problem = problem
		}
		for _, r := range rows {
			m.Rows = append(m.Rows, &proto.SFrameRow{Offset: r.offset, Cfa: r.CFA, Fp: r.FP, Ra: r.RA})
		}
		return out.Send(m)
	})
}

// sframeRow is a row and where it begins.
type sframeRow struct {
	offset uint32
	sframe.Columns
}

// dumpSFrame sends the functions of the section of the module that contains an address,
// each with up to maxRows of its rows. The function is nil for a problem between
// functions.
func dumpSFrame(ctx context.Context, id, addr uint64, send func(f *sframe.Func, rows []sframeRow, problem string) error) error {
	return with(ctx, id, func(t *process.Process) error {
		at := t.Locate(addr)
		if at.Module == "" {
			return fail(protov2.ErrorReason_ERROR_REASON_UNKNOWN_MODULE, codes.NotFound, "no module contains the address %#x", addr)
		}
		if at.Tables == nil || at.Tables.SFrame == nil {
			return fail(protov2.ErrorReason_ERROR_REASON_NO_SFRAME, codes.NotFound, "%s has no .sframe that can be used", at.ModulePath)
		}
		section := at.Tables.SFrame
		for f, err := range section.Funcs() {
			if f.Table() == nil {
				err = send(nil, nil, problemText(err))
			} else {
				err = sendFunction(section, &f, err, send)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// sendFunction sends a function that the section yielded with an error, or nil.
func sendFunction(section *sframe.Section, f *sframe.Func, err error, send func(*sframe.Func, []sframeRow, string) error) error {
	problem := problemText(err)
	if err != nil {
		return send(f, nil, problem)
	}
	var rows []sframeRow
	for row, err := range section.FREs(*f) {
		if err != nil {
			problem = problemText(err)
			break
		}
		columns, err := f.Columns(&row)
		if err != nil {
			problem = problemText(err)
		}
		rows = append(rows, sframeRow{row.Start, columns})
		if len(rows) >= maxRows {
			if err := send(f, rows, problem); err != nil {
				return err
			}
			rows, problem = nil, ""
		}
	}
	return send(f, rows, problem)
}

func functionHead(f *sframe.Func) *proto.SFrameFunction {
	m := &proto.SFrameFunction{
		Start: f.Start, Size: f.Size, Type: "pcinc", RepSize: uint32(f.RepSize),
		Signal: f.Signal(), Flex: f.Flexible(), Version: uint32(f.Table().Version),
	}
	if f.PCMask() {
		m.Type = "pcmask"
	}
	return m
}

func problemText(err error) string {
	if err == nil {
		return ""
	}
	return text(err.Error())
}
