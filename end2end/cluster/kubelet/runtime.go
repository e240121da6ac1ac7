package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	fakeremote "k8s.io/cri-client/pkg/fake"
	"k8s.io/cri-client/pkg/util"
)

// runtime is a container runtime without containers. It fails in the words of containerd.
type runtime struct {
	*fakeremote.RemoteRuntime
	dir string
	// The number of sandboxes so far.
	sandboxes int
}

// startRuntime serves a runtime at a socket, whose address it returns.
func startRuntime(dir string) (string, error) {
	endpoint := "unix://" + filepath.Join(dir, "runtime.sock")
	listener, err := util.CreateListener(endpoint)
	if err != nil {
		return "", err
	}
	r := &runtime{RemoteRuntime: fakeremote.NewFakeRemoteRuntime(), dir: dir}
	conditions := []*cri.RuntimeCondition{{Type: cri.RuntimeReady, Status: true}, {Type: cri.NetworkReady, Status: true}}
	r.RuntimeService.FakeStatus = &cri.RuntimeStatus{Conditions: conditions}
	r.ImageService.SetFakeImageSize(1)
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, r)
	cri.RegisterImageServiceServer(server, r)
	go server.Serve(listener)
	return endpoint, nil
}

func (r *runtime) Version(context.Context, *cri.VersionRequest) (*cri.VersionResponse, error) {
	return &cri.VersionResponse{Version: "0.1.0", RuntimeName: "containerd", RuntimeVersion: "v2.1.0", RuntimeApiVersion: "v1"}, nil
}

func (r *runtime) RunPodSandbox(ctx context.Context, request *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	response, err := r.RemoteRuntime.RunPodSandbox(ctx, request)
	if err != nil {
		return nil, err
	}
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	sandbox := r.RuntimeService.Sandboxes[response.PodSandboxId]
	delete(r.RuntimeService.Sandboxes, response.PodSandboxId)
	r.sandboxes++
	sandbox.Id = identifier(response.PodSandboxId)
	sandbox.Network.Ip = fmt.Sprintf("10.244.9.%d", r.sandboxes%250+2)
	r.RuntimeService.Sandboxes[sandbox.Id] = sandbox
	return &cri.RunPodSandboxResponse{PodSandboxId: sandbox.Id}, nil
}

func (r *runtime) StopPodSandbox(ctx context.Context, request *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	r.RuntimeService.Lock()
	sandbox := r.RuntimeService.Sandboxes[request.PodSandboxId]
	r.RuntimeService.Unlock()
	if sandbox != nil && faultOf(r.dir, sandbox.Metadata.Uid) == network {
		const why = "plugin type=\"calico\" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized"
		return nil, status.Errorf(codes.Unknown, "failed to destroy network for sandbox %q: %s", request.PodSandboxId, why)
	}
	return r.RemoteRuntime.StopPodSandbox(ctx, request)
}

func (r *runtime) CreateContainer(ctx context.Context, request *cri.CreateContainerRequest) (*cri.CreateContainerResponse, error) {
	response, err := r.RemoteRuntime.CreateContainer(ctx, request)
	if err != nil {
		return nil, err
	}
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	container := r.RuntimeService.Containers[response.ContainerId]
	delete(r.RuntimeService.Containers, response.ContainerId)
	container.Id = identifier(response.ContainerId)
	r.RuntimeService.Containers[container.Id] = container
	return &cri.CreateContainerResponse{ContainerId: container.Id}, nil
}

func (r *runtime) StopContainer(ctx context.Context, request *cri.StopContainerRequest) (*cri.StopContainerResponse, error) {
	r.RuntimeService.Lock()
	container := r.RuntimeService.Containers[request.ContainerId]
	var pod string
	if container != nil {
		pod = container.Labels["io.kubernetes.pod.uid"]
	}
	r.RuntimeService.Unlock()
	switch fault := faultOf(r.dir, pod); fault {
	case kill:
		const why = "unknown error after kill: runc did not terminate successfully: exit status 1: unable to signal init: permission denied"
		return nil, status.Errorf(codes.Unknown, "failed to stop container %q: failed to kill container %q: %s", request.ContainerId, request.ContainerId, why)
	case unkillable:
		for faultOf(r.dir, pod) == fault {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(poll):
			}
		}
	}
	response, err := r.RemoteRuntime.StopContainer(ctx, request)
	r.RuntimeService.Lock()
	defer r.RuntimeService.Unlock()
	if container != nil && err == nil {
		container.ExitCode, container.Reason = 143, "Error" // SIGTERM
	}
	return response, err
}

// ExecSync runs `sleep SECONDS`, for hooks, on this machine. All other commands fail.
func (r *runtime) ExecSync(ctx context.Context, request *cri.ExecSyncRequest) (*cri.ExecSyncResponse, error) {
	if len(request.Cmd) == 2 && request.Cmd[0] == "sleep" {
		return &cri.ExecSyncResponse{}, exec.CommandContext(ctx, "sleep", request.Cmd[1]).Run()
	}
	return &cri.ExecSyncResponse{ExitCode: 1}, nil
}

// identifier makes an identifier like those of containerd.
func identifier(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
