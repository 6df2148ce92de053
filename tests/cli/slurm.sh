# SPDX-License-Identifier: Apache-2.0
# scripts/collection-slurm on a cluster of one node that lives in the scratch folder: the same database as without.
source "$(dirname "$0")/common.inc"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sbatch squeue; do
    command -v $program >/dev/null || { echo "skipped: no program $program, on Debian slurm-wlm and munge"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: Slurm's daemons want to be started by root"; exit 77; }

end_daemons() {
    for name in slurmd slurmctld munged; do [ ! -e "$scratch/$name.pid" ] || kill "$(cat "$scratch/$name.pid")"; done 2>/dev/null
    sleep 1 # they write their state
    rm -rf "$scratch"
}
trap end_daemons EXIT
skip() { echo "skipped: $1: $(tail -n 1 "$2" 2>/dev/null)"; exit 77; }

chmod 755 "$scratch"
head -c 1024 /dev/urandom >munge.key
chmod 400 munge.key
munged --force --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munged.seed" 2>munge.err || skip "munged does not start here" munge.err
host=$(hostname -s)
port=$((20000 + RANDOM % 20000))
mkdir state spool
cat >slurm.conf <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$scratch/slurm.conf
slurmctld 2>slurmctld.err || skip "slurmctld does not start here" slurmctld.err
slurmd 2>slurmd.err || skip "slurmd does not start here" slurmd.err
for _ in $(seq 120); do sinfo -h 2>/dev/null | grep -q idle && break; sleep 1; done
sinfo -h 2>/dev/null | grep -q idle || skip "the node of the cluster does not come up" slurmd.log

mkdir photos
for i in 1 2 3 4 5 6; do render "photos/$i.pgm" 240 180 $((i / 2)); done
run "$KEYBITS" collection photos -o alone.db -n 200 --quiet
PATH=$(dirname "$KEYBITS"):$PATH run "$KEYBITS_SOURCE/scripts/collection-slurm" 3 "$scratch/slurm.db" "$scratch/photos" -- -n 200 >job
for _ in $(seq 3000); do squeue -h | grep -q . || break; sleep 1; done
[ -e slurm.db ] || fail "no database: $(cat slurm.db.work/*.log | tail -n 3)"
same alone.db slurm.db
[ "$(ls slurm.db.work/slurm-keybits-match-*.log | wc -l)" = 3 ] || fail "the match step was no array of 3"

# A step that fails ends those that wait for it.
PATH=$(dirname "$KEYBITS"):$PATH run "$KEYBITS_SOURCE/scripts/collection-slurm" 2 "$scratch/none.db" "$scratch/photos" -- --camera NONE,1 >job
for _ in $(seq 3000); do squeue -h | grep -q . || break; sleep 1; done
! squeue -h | grep -q . || fail "jobs wait forever: $(squeue -h)"
[ ! -e none.db ] || fail "a database in spite of failure"
