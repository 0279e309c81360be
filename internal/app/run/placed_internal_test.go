package run

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/limit"
)

func TestMemoryThatSlurmHasGiven(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want limit.Bytes
	}{
		{nil, 0},
		{map[string]string{"SLURM_MEM_PER_NODE": "364"}, 0}, // left over in a shell, and no job
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "364"}, 364 * limit.MiB},
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_CPU": "100", "SLURM_CPUS_ON_NODE": "4"}, 400 * limit.MiB},
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_CPU": "100"}, 0},
		{map[string]string{"SLURM_JOB_ID": "1"}, 0},
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "-5"}, 0},
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "9223372036854775807"}, 0},
		{map[string]string{"SLURM_JOB_ID": "1", "SLURM_MEM_PER_CPU": "1073741824", "SLURM_CPUS_ON_NODE": "1073741824"}, 1 << 50},
	} {
		if got := slurmMemory(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%v: %s, want %s", c.env, got, c.want)
		}
	}
}

// One figure: the learned one, or a named one; a guess is no limit.
func TestOneFigure(t *testing.T) {
	for _, c := range []struct {
		of   Prediction
		want int64
	}{
		{Prediction{ReservationBytes: 1, LimitBytes: 9, Samples: 3}, 1},
		{Prediction{ReservationBytes: 1, LimitBytes: 9, Samples: 3, Guessed: true}, 9},
		{Prediction{ReservationBytes: 1, LimitBytes: 9}, 9},
		{Prediction{ReservationBytes: 1, LimitBytes: 9, stated: true}, 1},
		{Prediction{ReservationBytes: 1, LimitBytes: 9, Samples: 3, chosen: true}, 9},
	} {
		if got := c.of.OneFigureBytes(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.of, got, c.want)
		}
	}
}

// Inside a job a run keeps below what the job has, whether or not a cgroup holds that, and admission goes by the host.
func TestARunKeepsBelowItsJob(t *testing.T) {
	host := sizing.Host{Err: errElsewhere, Given: 364 * limit.MiB, GivenBy: "Slurm"}
	n, err := sizing.Decide(config.Settings{MemoryMax: config.Auto, Reservation: 2 * limit.GiB}, estimate.Input{}, host)
	if err != nil || n.Memory != 348*limit.MiB || n.Reservation != 2*limit.GiB || n.CeilingOf != "the job of Slurm" || n.LimitNote != "kept below the 364 MiB that the job of Slurm allows" {
		t.Errorf("%+v, %v", n, err)
	}
	n, err = sizing.Decide(config.Settings{MemoryMax: 300 * limit.MiB}, estimate.Input{}, host)
	if err != nil || n.Memory != 300*limit.MiB || n.LimitNote != "" {
		t.Errorf("%+v, %v", n, err)
	}
}
