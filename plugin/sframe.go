package plugin

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sfcore/sfcore/plugin/proto"
	"github.com/sfcore/sfcore/process"
	"github.com/sfcore/sfcore/sframe"
)

// maxRows bounds the rows of a message; one takes up to some 100 bytes.
const maxRows = 4096

// DumpSFrame implements proto.PluginServer.
func (s *service) DumpSFrame(req *proto.DumpSFrameRequest, out grpc.ServerStreamingServer[proto.SFrameFunction]) error {
	return with(out.Context(), req.GetSession(), func(t *process.Process) error {
		at := t.Locate(req.GetAddress())
		if at.Module == "" {
			return status.Errorf(codes.NotFound, "no module contains the address %#x", req.GetAddress())
		}
		if at.Tables == nil || at.Tables.SFrame == nil {
			return status.Errorf(codes.NotFound, "%s has no .sframe that can be used", at.ModulePath)
		}
		section := at.Tables.SFrame
		for f, err := range section.Funcs() {
			if err := sendFunction(out, section, &f, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendFunction sends a function that the section yielded with an error, or nil.
func sendFunction(out grpc.ServerStreamingServer[proto.SFrameFunction], section *sframe.Section, f *sframe.Func, err error) error {
	if f.Table() == nil {
		return out.Send(&proto.SFrameFunction{Problem: problemText(err)})
	}
	part := functionHead(f)
	if err != nil {
		part.Problem = problemText(err)
		return out.Send(part)
	}
	for row, err := range section.FREs(*f) {
		if err != nil {
			part.Problem = problemText(err)
			break
		}
		columns, err := f.Columns(&row)
		if err != nil {
			part.Problem = problemText(err)
		}
		part.Rows = append(part.Rows, &proto.SFrameRow{Offset: row.Start, Cfa: columns.CFA, Fp: columns.FP, Ra: columns.RA})
		if len(part.GetRows()) >= maxRows {
			if err := out.Send(part); err != nil {
				return err
			}
			part = functionHead(f)
		}
	}
	return out.Send(part)
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
