package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// driverName is the driver that end2end/cluster/provisioner.mjs provisions volumes for.
const driverName = "csi.unwind.test"

// csiDriver is the node part of a CSI driver, with its registration. Its volumes are empty directories.
type csiDriver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	dir  string
	node string
}

// run serves the driver, and keeps it registered, while the fault of the node permits it.
func (d *csiDriver) run(root string) {
	endpoint := filepath.Join(d.dir, "csi.sock")
	var server, registrar *grpc.Server
	for ; ; time.Sleep(poll) {
		fault := faultOf(d.dir, machine)
		switch {
		case fault != unavailable && server == nil:
			server = grpc.NewServer()
			csi.RegisterIdentityServer(server, d)
			csi.RegisterNodeServer(server, d)
			d.serve(server, endpoint)
		case fault == unavailable && server != nil:
			server.Stop()
			server = nil
			// A driver that is killed leaves its socket behind.
			listener, err := net.Listen("unix", endpoint)
			if err != nil {
				klog.Fatalf("The CSI driver cannot leave its socket: %v", err)
			}
			listener.(*net.UnixListener).SetUnlinkOnClose(false)
			listener.Close()
		}
		wanted := fault != unregistered
		switch {
		case wanted && registrar == nil:
			socket := filepath.Join(root, "plugins_registry", driverName+"-reg.sock")
			if _, err := os.Stat(filepath.Dir(socket)); err != nil {
				continue // the kubelet has not created it yet
			}
			registrar = grpc.NewServer()
			registration.RegisterRegistrationServer(registrar, &registrarServer{endpoint: endpoint})
			d.serve(registrar, socket)
		case !wanted && registrar != nil:
			registrar.Stop() // removes the socket, which the kubelet watches
			registrar = nil
		}
	}
}

func (*csiDriver) serve(server *grpc.Server, socket string) {
	// One that was left behind is nobody's.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		klog.Fatalf("The CSI driver cannot remove its old socket: %v", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		klog.Fatalf("The CSI driver cannot listen: %v", err)
	}
	go server.Serve(listener)
}

func (*csiDriver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "1"}, nil
}

func (d *csiDriver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.node}, nil
}

func (*csiDriver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (*csiDriver) NodePublishVolume(_ context.Context, request *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return &csi.NodePublishVolumeResponse{}, os.MkdirAll(request.TargetPath, 0o750)
}

func (d *csiDriver) NodeUnpublishVolume(ctx context.Context, request *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	pod := podOf(request.TargetPath)
	switch fault := faultOf(d.dir, pod); fault {
	case unpublish:
		const words = "failed to unmount target %q: unmount failed: exit status 32\nUnmounting arguments: %s\nOutput: umount: %s: target is busy.\n"
		return nil, status.Errorf(codes.Internal, words, request.TargetPath, request.TargetPath, request.TargetPath)
	case unpublishHang:
		for faultOf(d.dir, pod) == fault {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(poll):
			}
		}
	}
	return &csi.NodeUnpublishVolumeResponse{}, os.RemoveAll(request.TargetPath)
}

type registrarServer struct {
	registration.UnimplementedRegistrationServer
	endpoint string
}

func (r *registrarServer) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: driverName, Endpoint: r.endpoint, SupportedVersions: []string{"1.0.0"}}, nil
}

func (r *registrarServer) NotifyRegistrationStatus(_ context.Context, result *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !result.PluginRegistered {
		klog.ErrorS(nil, "The CSI driver was not registered", "error", result.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}
