// Command kube is Kubernetes' control plane in one file, for tests on a machine without containers:
// the first argument says which program it is, the rest are that program's own flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = "usage: kube etcd|apiserver|controller-manager|scheduler [flags]"

// etcdReady is how long etcd may take to elect itself.
const etcdReady = 30 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	role := os.Args[1]
	os.Args = os.Args[1:]
	switch role {
	case "etcd":
		if err := etcd(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "etcd:", err)
			os.Exit(1)
		}
	case "apiserver":
		run(apiserver.NewAPIServerCommand())
	case "controller-manager":
		run(controllers.NewControllerManagerCommand())
	case "scheduler":
		run(scheduler.NewSchedulerCommand())
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

// etcd runs the embedded server until it is told to end. The flags are a few of etcd's own, by the
// same names, so that a real etcd can stand in its place.
func etcd(args []string) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	data := flags.String("data-dir", "", "folder of the data")
	clients := flags.String("listen-client-urls", "", "URL for clients")
	advertised := flags.String("advertise-client-urls", "", "the same, as told to others")
	peers := flags.String("listen-peer-urls", "http://127.0.0.1:0", "URL for peers")
	noFsync := flags.Bool("unsafe-no-fsync", false, "do not wait for the disk")
	level := flags.String("log-level", "warn", "least level of what is logged")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" || *clients == "" {
		return errors.New("--data-dir and --listen-client-urls are needed")
	}
	if *advertised == "" {
		advertised = clients
	}
	config := embed.NewConfig()
	config.Dir = *data
	config.UnsafeNoFsync = *noFsync
	config.LogLevel = *level
	for _, one := range []struct {
		text string
		into *[]url.URL
	}{{*clients, &config.ListenClientUrls}, {*advertised, &config.AdvertiseClientUrls}, {*peers, &config.ListenPeerUrls}} {
		parsed, err := url.Parse(one.text)
		if err != nil {
			return err
		}
		*one.into = []url.URL{*parsed}
	}
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	select {
	case <-server.Server.ReadyNotify():
	case <-asked:
		return nil
	case <-time.After(etcdReady):
		return fmt.Errorf("not ready after %s", etcdReady)
	}
	select {
	case <-asked:
		return nil
	case err := <-server.Err():
		return err
	}
}
