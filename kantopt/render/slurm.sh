usage="usage: sh SCRIPT [--dry-run] [--cancel] [--exclude] [--no-reservation] [--wait SECONDS] [--undo]
  --dry-run         check, and say what would be done
  --cancel          cancel victims that cannot be requeued
  --exclude         keep jobs to their nodes by excluding all others (always so with topology/block)
  --no-reservation  do not keep others off the nodes meanwhile
  --wait SECONDS    longest wait for jobs to leave or to run (600)
  --undo            take back what a run that was killed has left: holds, node lists, reservation;
                    and node lists of jobs that it had started and that Slurm has queued again
Exit status: 0 done; 1 stopped on the way; 2 usage; 3 refused, nothing was done."
dry='' cancel='' exclude='' reserve=yes patience=600 only_undo=''
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --cancel) cancel=yes ;;
    --exclude) exclude=yes ;;
    --no-reservation) reserve='' ;;
    --undo) only_undo=yes ;;
    --wait) patience=${2:-}; shift ;;
    --help) printf '%s\n' "$usage"; exit 0 ;;
    *) printf '%s\n' "found '$1', expected one of the options below" "$usage" >&2; exit 2 ;;
  esac
  [ $# -gt 0 ] && shift
done
case $patience in ''|*[!0-9]*) printf '%s\n' "$usage" >&2; exit 2 ;; esac

export LC_ALL=C SLURM_TIME_FORMAT=%s
unset SLURM_CLUSTERS SQUEUE_ACCOUNT SQUEUE_CLUSTERS SQUEUE_FORMAT SQUEUE_FORMAT2 SQUEUE_LICENSES \
  SQUEUE_NAMES SQUEUE_PARTITION SQUEUE_QOS SQUEUE_SORT SQUEUE_STATES SQUEUE_USERS
touched='' finished='' kept='' inside='' taking_back='' pinned='' users=$(id -un)

say() { printf '%s\n' "$*"; }
refuse() { say "REFUSED, nothing was done: $*" >&2; exit 3; }
stop() {
  [ -n "$touched" ] || refuse "$*"
  say "STOPPED: $*" >&2
  exit 1
}

# Change something, or say what would be changed. What fails ends the run, but while all is taken
# back the rest is taken back all the same.
call() {
  if [ -n "$dry" ]; then say "  $*"; return 0; fi
  touched=yes
  "$@" </dev/null >/dev/null && return 0
  # shellcheck disable=SC2086 # the words of the line
  if [ -n "$pinned" ] && look && where $pinned && [ "$now" = 'done' ]; then return 0; fi
  [ -n "$taking_back" ] || stop "failed: $*"
  say "FAILED: $*" >&2
  taking_back=failed
}

# What Slurm says of the plan's jobs now.
look() {
  seen=$(squeue --noheader --all --array --states=all --jobs="$jobs" \
    --format='%i|%T|%V|%Q|%N|%n|%x|%v|%l|%E|%u|%a|%P|%r' 2>&1) || case $seen in
    *'Invalid job id'*) seen='' ;;
    *) [ -z "$taking_back" ] || return 1
       stop "squeue: $seen" ;;
  esac
}

# Set state, submitted, priority, nodes, asked, excluded, reservation, limit, dependency, user, account,
# partitions and reason of a job, as it was seen.
of() {
  state=GONE submitted='' priority='' nodes='' asked='' excluded='' own='' limit='' awaits='' user=''
  account='' partitions='' reason=''
  row=$(printf '%s\n' "$seen" | grep "^$1|" | tail -n 1)
  [ -z "$row" ] || IFS='|' read -r _ state submitted priority nodes asked excluded own limit awaits \
    user account partitions reason <<EOF
$row
EOF
  [ "$own" != '(null)' ] || own=''
}

show_time() { date -d "@$1" 2>/dev/null || date -r "$1" 2>/dev/null || printf '%s\n' "$1"; }
names_in() { [ -z "$1" ] || scontrol show hostnames "$1" | sort -u; }
folded() { [ -z "$1" ] || scontrol show hostlist "$(printf '%s\n' "$1" | paste -s -d , -)"; }
same() { [ "$1" = "$2" ] || [ "$(names_in "$1")" = "$(names_in "$2")" ]; }

# Set comment to the AdminComment of a job, and mark to what a script like this has left in it:
# kantopt:PLAN:LIST=NODES:HOWMANY,TASKS,CPUS:PRIORITY, all but PLAN as it was before.
marks_of() {
  comment=$(squeue --noheader --all --array --states=all --jobs="$1" \
    --Format='admin_comment:1000' 2>/dev/null | sed -n '1{s/ *$//;s/^(null)$//;p;}')
  mark=$(printf '%s\n' "$comment" | sed -n 's/.*\(kantopt:[^ ]*\).*/\1/p')
}

can_requeue() {
  [ "$(squeue --noheader --all --array --jobs="$1" --Format='requeue:2,batchflag:2' |
    tr -d ' \n')" = 11 ]
}

# Set now to where a line of the plan stands: to-do, leaving, done, or what is wrong.
where() {
  of "$3"
  case $state in
    RUNNING|SUSPENDED|CONFIGURING|STOPPED|SIGNALING|RESIZING|STAGE_OUT) runs=yes ;;
    *) runs='' ;;
  esac
  case $2 in
    evict|leave)
      if [ "$submitted" != "$4" ]; then now='done'
      elif [ "$state" = COMPLETING ]; then now=leaving
      elif [ -z "$runs" ]; then now='done'
      elif same "$nodes" "$6"; then now=to-do
      else now="runs on $nodes, not on $6"; fi ;;
    *)
      if [ "$state" = GONE ]; then now='is gone'
      elif [ "$2" = return ] && [ "$submitted" = "$4" ]; then now=to-do
      elif [ "$2" = start ] && [ "$submitted" != "$4" ]; then now='was queued again'
      elif [ "$state" = PENDING ]; then now=to-do
      elif [ -n "$nodes" ] && same "$nodes" "$6"; then now='done'
      else now="is $state on ${nodes:-no node}, not on $6"; fi ;;
  esac
}

# Run a function with the words of each line of the plan of some kinds: of a step, such as 3, of
# this one and those after it (3+), or of all.
each() {
  step=$1 kinds=$2 function=$3
  while read -r line; do
    # shellcheck disable=SC2086 # the words of the line
    set -- $line
    case $step in
      all) ;;
      *+) [ "$1" -ge "${step%+}" ] || continue ;;
      *) [ "$1" = "$step" ] || continue ;;
    esac
    case " $kinds " in *" $2 "*) "$function" "$@" ;; esac
  done <<EOF
$plan
EOF
}

complain() {
  bad="$bad
  $*"
}

# Whether Slurm would start a job that is let go: it may wait for more than its nodes.
check_free() {
  shown=$(scontrol show job "$3" 2>&1) || stop "scontrol show job $3: $shown"
  case $awaits in
    *'(unfulfilled)'*|*'(failed)'*) complain "job $3 waits for others ($awaits)" ;;
  esac
  from=$(printf '%s\n' "$shown" | sed -n 's/.* EligibleTime=\([0-9]\{1,\}\).*/\1/p' | head -n 1)
  if [ "${from:-0}" -gt "$(date +%s)" ]; then
    complain "job $3 may not start before $(show_time "$from")"
  fi
  marks_of "$3"
  [ -z "$mark" ] || return 0
  case $reason in
    # A limit that the plan has counted: it makes room below it.
    QOSGrpC[Pp][Uu]|QOSGrpC[Pp][Uu]Limit|QOSGrpMem|QOSGrpMemLimit|QOSGrpMemory|QOSGrpGRES)
      case ",$limited," in *",$3,"*) return 0 ;; esac ;;
  esac
  case $reason in
    Assoc*|QOS*|Partition*|Invalid*|Account*|MaxMemPerLimit|Deadline*|JobArrayTaskLimit)
      complain "job $3 is kept from starting ($reason)" ;;
  esac
}

# Set least and most to how many nodes a job asks for, by what scontrol has shown of it; most is
# empty where it names none. What is shown first may be what Slurm expects to give, which is more.
asked_for() {
  most=''
  least=$(printf '%s\n' "$shown" | sed -n 's/^ *NumNodes=\([0-9-]*\) .*/\1/p' | head -n 1)
  fewest=$(printf '%s\n' "$shown" |
    sed -n 's/^ *\(Req\)\{0,1\}TRES=.*[,=]node=\([0-9]*\).*/\2/p' | head -n 1)
  case $least in *-*) most=${least#*-} least=${least%-*} ;; esac
  [ "${fewest:-$least}" -ge "$least" ] 2>/dev/null || least=$fewest
}

# Its user may have changed what a job asks for since the snapshot.
check_asked() {
  [ -z "$mark" ] || return 0
  planned=$(names_in "$6")
  asked_for
  if [ -n "$most" ] && { [ "$5" -lt "$least" ] || [ "$5" -gt "$most" ]; }; then
    complain "job $3 asks for $least to $most nodes by now, not for $5"
  fi
  lacking=$(names_in "$asked" | grep -Fvx "$planned" | paste -s -d , -)
  [ -z "$lacking" ] || complain "job $3 asks for $lacking by now, which it is not to get"
  refused=$(names_in "$excluded" | grep -Fx "$planned" | paste -s -d , -)
  [ -z "$refused" ] || complain "job $3 excludes $refused by now, where it is to run"
}

check_line() {
  where "$@"
  case $now in
    to-do) ;;
    'done'|leaving) return ;;
    *) complain "job $3 $now"; return ;;
  esac
  case $2 in
    start|return) wanted="$wanted${wanted:+,}$6" ;;
    *) can_requeue "$3" || { [ "$2" = evict ] && [ -n "$cancel" ]; } ||
      complain "job $3 cannot be requeued (--cancel cancels such victims)" ;;
  esac
  if [ "$2" = start ]; then
    check_free "$@"
    check_asked "$@"
  fi
  check_reserved "$@"
  case $2/$reason in
    start/JobHeldUser) complain "job $3 is held by its user" ;;
    start/JobHeldAdmin)
      marks_of "$3"
      case $mark in
        "kantopt:$plan_id:"*) ;;
        kantopt:*) complain "job $3 is held for another plan, whose script knows --undo" ;;
        *) complain "job $3 is held by an administrator" ;;
      esac ;;
  esac
}

# What is reserved for others, a line for each node: name, start, end, flags, users, accounts, node.
look_reserved() {
  shown=$(scontrol --oneliner show reservation 2>&1) || stop "scontrol show reservation: $shown"
  [ "$shown" != "$shown_before" ] || return 0
  shown_before=$shown reserved=''
  while read -r line; do
    hosts=$(field Nodes "$line") name=$(field ReservationName "$line")
    if [ -z "$hosts" ] || [ "$name" = "$reservation" ]; then continue; fi
    # One of some cores leaves the others of its nodes to everybody.
    cores=$(sinfo --noheader --Node --all --nodes="$hosts" --format='%N|%c|%Z' | sort -u |
      awk -F '|' '{ sum += int($2 / ($3 > 0 ? $3 : 1)) } END { print sum + 0 }')
    count=$(field CoreCnt "$line")
    [ "${count:-$cores}" -ge "$cores" ] || continue
    row="$name|$(field StartTime "$line")|$(field EndTime "$line")|$(field Flags "$line")"
    row="$row|$(field Users "$line")|$(field Accounts "$line")"
    reserved="$reserved$(names_in "$hosts" | sed "s/^/$row|/")
"
  done <<EOF
$shown
EOF
}
field() { printf ' %s\n' "$2" | sed -n "s/.* $1=\([^ ]*\).*/\1/p" | sed 's/^(null)$//'; }

# Nodes that others have reserved before a job would end there. Those of its own reservation it may
# use, and those of one that draws its user's jobs.
check_reserved() {
  where "$@"
  [ "$now" = to-do ] || return 0
  taken_by=$(names_in "$6" | sed 's/^/node|/' | {
    cat
    printf '%s\n' "$reserved"
  } | awk -F '|' -v own="$own" -v limit="$limit" -v user="$user" -v account="$account" \
    -v now="$(date +%s)" -v least="$(least_time "$3")" '
    function seconds(text, part, n, days, i, sum) {
      if (text !~ /^[0-9:-]+$/) return -1
      days = 0
      if (split(text, part, "-") == 2) { days = part[1]; text = part[2] }
      n = split(text, part, ":")
      for (i = 1; i <= n; i++) sum = sum * 60 + part[i]
      return (n == 1 ? sum * 60 : sum) + 86400 * days
    }
    function among(name, list) { return name != "" && index("," list ",", "," name ",") > 0 }
    $1 == "node" && NF == 2 { planned[$2] = 1; next }
    NF < 7 || !($7 in planned) { next }
    $1 == own { if ($4 ~ /MAINT|OVERLAP/) beyond = 1; next }
    $4 ~ /MAGNETIC/ && (among(user, $5) || among(account, $6)) { next }
    $3 + 0 <= now + 0 { next }
    $2 + 0 <= now + 0 { found[++n] = $7 " " $1; next }
    {
      lasts = seconds(least != "" ? least : limit)
      if (lasts < 0 || now + lasts > $2 + 0) found[++n] = $7 " " $1 " before"
    }
    END { for (i = 1; i <= n && !beyond; i++) print found[i] }')
  while read -r node by before; do
    [ -n "$node" ] || continue
    complain "node $node is reserved by $by${before:+ before job $3 would end}"
  done <<EOF
$taken_by
EOF
}

# The least time that a job may be given, where it says one.
least_time() {
  scontrol show job "$1" | sed -n 's/.* TimeMin=\([0-9][^ ]*\).*/\1/p' | head -n 1
}

add_ours() {
  where "$@"
  case $2/$now in start/done|return/done|evict/to-do|leave/to-do) ours="$ours,$3" ;; esac
}

# Others that have started on the nodes since the snapshot, in the same second too, and nodes that
# take nobody.
check_nodes() {
  [ -n "$wanted" ] || return 0
  [ -n "$taken" ] || say "When the snapshot was taken is not known: nobody looks who started since."
  others=$(squeue --noheader --all --array --states=R,CF,S --nodelist="$wanted" \
    --format='%i|%S' 2>&1) || stop "squeue: $others"
  # Of the plan's jobs Slurm may have started some by itself since they were looked at.
  look
  ours=''
  each all 'evict leave start return' add_ours
  while IFS='|' read -r other since; do
    if [ -z "$other" ] || [ -z "$taken" ] || [ "$since" -lt "$taken" ]; then continue; fi
    case "$ours," in
      *",$other,"*) ;;
      *) complain "job $other has started on the nodes since the snapshot" ;;
    esac
  done <<EOF
$(printf '%s\n' "$others" | sort -u)
EOF
  check_states "$wanted"
}

# Nodes of a list that take nobody.
check_states() {
  shown=$(sinfo --noheader --Node --all --nodes="$1" --format='%N|%t' 2>&1) ||
    stop "sinfo: $shown"
  while IFS='|' read -r node is; do
    case $is in
      idle|mix|alloc|comp|plnd|resv|idle[~#%@^-]|mix[~#%@^-]|alloc[~#%@^-]) ;;
      *) complain "node $node is $is" ;;
    esac
  done <<EOF
$(printf '%s\n' "$shown" | sort -u)
EOF
}

# Keep all others off these nodes, or off none.
keep() {
  if [ -z "$reserve" ]; then return 0; fi
  if [ "$1" = "$kept" ]; then return 0; fi
  if [ -z "$1" ]; then
    call scontrol delete "ReservationName=$reservation"
  elif [ -n "$kept" ]; then
    call scontrol update "ReservationName=$reservation" "Nodes=$1" "EndTime=now+${lasting}minutes"
  else
    call scontrol create reservation "ReservationName=$reservation" StartTime=now \
      "EndTime=now+${lasting}minutes" "Users=$users" "Nodes=$1" Flags=IGNORE_JOBS,OVERLAP
  fi
  kept=$1
}
is_kept() { scontrol show reservation "$reservation" >/dev/null 2>&1; }

# Who waits for nodes of a partition, the first of each: tier, job, partition, node; and a line for
# the tier of each partition.
look_ahead() {
  queue=$(squeue --noheader --all --array --states=PD --format='%i|%P|%Q|%v|%r' 2>&1) ||
    stop "squeue: $queue"
  shown=$(scontrol --oneliner show partition 2>&1) || stop "scontrol show partition: $shown"
  tiers='' fronts=''
  while read -r line; do
    name=$(field PartitionName "$line") tier=$(field PriorityTier "$line")
    tiers="$tiers$name|${tier:-0}
"
    first=$(printf '%s\n' "$queue" | awk -F '|' -v name="$name" -v ours=",$jobs," '
      $3 + 0 == 0 || index(ours, "," $1 ",") || $4 !~ /^(\(null\))?$/ { next }
      $5 ~ /^(Dependency|BeginTime|JobArrayTaskLimit|Assoc|QOS|Partition|Invalid|Account)/ { next }
      index("," $2 ",", "," name ",") { print $1; exit }')
    [ -n "$first" ] || continue
    fronts="$fronts$(names_in "$(field Nodes "$line")" | sed "s/^/${tier:-0}|$first|$name|/")
"
  done <<EOF
$shown
EOF
}

# Set ahead to a job of a higher tier, with its partition, that waits for nodes of a job to start.
# Slurm's main scheduler then starts nobody of a lower tier there. One with a reservation of its own
# starts all the same.
ahead_of() {
  where "$@"
  ahead=''
  [ "$now" = to-do ] && [ -z "$own" ] && [ -n "$kept" ] || return 0
  ahead=$({
    printf '%s\n' "$tiers" | sed 's/^/tier|/'
    names_in "$6" | sed 's/^/node|/'
    printf '%s\n' "$fronts"
  } | awk -F '|' -v partitions=",$partitions," '
    $1 == "tier" { if (index(partitions, "," $2 ",") && $3 + 0 > top) top = $3 + 0; next }
    $1 == "node" { planned[$2] = 1; next }
    NF == 4 && $1 + 0 > top && $4 in planned { print $2 " of partition " $3; exit }')
}

# Such a job passes the one ahead: it starts within the reservation of its nodes, which is nobody
# else's. That lasts longer than backfill looks ahead, so that it plans the other nowhere there;
# with FLEX Slurm ends nobody with it.
add_passing() {
  ahead_of "$@"
  [ -n "$ahead" ] || return 0
  passing=yes
  say "Step $1: job $3 passes job $ahead, which waits for the same nodes."
}
# So do all others of its step, which may share these nodes.
add_inside() {
  where "$@"
  [ "$now" = to-do ] && [ -z "$own" ] || return 0
  inside="$inside $3"
  case ",$users," in *",$user,"*) ;; *) users=$users,$user ;; esac
}
let_in() {
  passing='' inside=''
  [ -n "$kept" ] || return 0
  look_ahead
  each "$1" 'start return' add_passing
  [ -n "$passing" ] || return 0
  each "$1" 'start return' add_inside
  window=$(setting SchedulerParameters | tr , '\n' | sed -n 's/^bf_window=\([0-9]*\)$/\1/p')
  lasting=$((lasting + ${window:-1440}))
  call scontrol update "ReservationName=$reservation" "Users=$users" Flags+=FLEX \
    "EndTime=now+${lasting}minutes"
}
is_inside() { case " $inside " in *" $1 "*) ;; *) return 1 ;; esac; }
add_nodes_inside() { if is_inside "$3"; then add_nodes "$@"; fi; }

# Who has started within the reservation goes on without it, as does who waits and shall not.
step_out() {
  of "$3"
  if is_inside "$3" || [ "$own" = "$reservation" ]; then
    call scontrol update "JobId=$3" ReservationName=
  fi
}

# Nodes that the plan empties take nobody any more before anybody leaves them, and for good: what
# they are emptied for is still to come.
close_emptied() {
  [ -n "$drained" ] || return 0
  shut=$(shut_nodes) || stop "sinfo: $shut"
  open=$(names_in "$drained")
  [ -n "$open" ] || stop "scontrol show hostnames: $drained"
  open=$(printf '%s\n' "$open" | grep -Fvx "$shut")
  [ -z "$open" ] ||
    call scontrol update "NodeName=$(folded "$open")" State=DRAIN "Reason=kantopt $plan_id"
}
# With a format: what else to tell of them.
shut_nodes() {
  sinfo --noheader --Node --all --nodes="$drained" --states=drain --format="%N${1-}" 2>&1
}
# Nodes that others have drained are theirs to open.
tell_shut() {
  [ -n "$drained" ] && shut=$(shut_nodes '|%E') || return 0
  shut=$(printf '%s\n' "$shut" | sed -n "s/|kantopt $plan_id\$//p" | sort -u)
  [ -n "$shut" ] || return 0
  shut=$(folded "$shut")
  say "Left drained: $shut. Opened by: scontrol update NodeName=$shut State=RESUME"
}

# Set comment to the AdminComment of a job with a mark of what it had before this plan.
remember() {
  marks_of "$1"
  if [ -n "$mark" ]; then
    comment=$(printf '%s\n' "$comment" | sed "s/kantopt:[^:]*:/kantopt:$plan_id:/")
    return
  fi
  of "$1"
  before=ReqNodeList=$asked
  [ -z "$exclude" ] || before=ExcNodeList=$excluded
  shown=$(scontrol show job "$1")
  asked_for
  number=$(printf '%s\n' "$shown" |
    sed -n 's/^ *NumNodes=.* NumCPUs=\([0-9]*\).* NumTasks=\([0-9]*\) .*/\2,\1/p' | head -n 1)
  [ -z "$number" ] || number="$least${most:+-$most},$number"
  comment="${comment:+$comment }kantopt:$plan_id:$before:$number:$priority"
}

# Hold a job and give it its nodes. With topology/block Slurm refuses lists of nodes to run on.
pin() {
  where "$@"
  [ "$now" = to-do ] || return 0
  list=ReqNodeList=$6
  if [ -n "$exclude" ]; then
    list=ExcNodeList=$(folded "$(sinfo --noheader --Node --all --format=%N | sort -u |
      grep -Fvx "$(names_in "$6")")")
  fi
  remember "$3"
  pinned=$*  # Slurm may have started it just there by itself, since it was looked at
  call scontrol update "JobId=$3" "$list" "NumNodes=$5-$5" Priority=0 "AdminComment=$comment"
  pinned=''
}

# Give a job that waits its own list of nodes back; set prior to the priority it had.
unpin() {
  prior=''
  marks_of "$1"
  [ -n "$mark" ] || return 0
  rest=${mark#kantopt:*:}
  prior=${rest##*:}
  rest=${rest%:*}
  comment=$(printf '%s\n' "$comment" | sed 's/ *kantopt:[^ ]*//')
  number=${rest##*:} job=JobId=$1
  set -- "$job" "${rest%:*}"
  nodes_wanted=${number%%,*} number=${number#*,}
  tasks=${number%,*} cpus=${number#*,}
  # Who names no nodes gets one for each task at most, and Slurm has no other word to say so.
  case $nodes_wanted in
    ''|*-*) ;;
    *) [ "$nodes_wanted" -gt "$tasks" ] || nodes_wanted=$nodes_wanted-$tasks ;;
  esac
  [ -z "$number" ] || set -- "$@" "NumTasks=$tasks" "NumNodes=$nodes_wanted"
  call scontrol update "$@" "AdminComment=$comment"
  # With more nodes there came more CPUs, which fewer nodes do not take away.
  case $number in *,*) call scontrol update "$job" "NumCPUs=$cpus" ;; esac
}

requeue() {
  where "$@"
  [ "$now" = to-do ] || return 0
  if [ "$2" = leave ]; then
    remember "$3"
    call scontrol update "JobId=$3" "AdminComment=$comment"
    call scontrol requeuehold "$3"
  elif can_requeue "$3" || [ -z "$cancel" ]; then call scontrol requeue "$3"
  else call scancel "$3"; fi
  [ -n "$dry" ] || say "Step $1: job $3 leaves $6."
}

free_victim() {
  of "$3"
  [ "$state" != PENDING ] || unpin "$3"
}

release() {
  where "$@"
  [ "$now" = to-do ] || return 0
  top=$(squeue --noheader --all --states=PD --format=%Q | sort -n | tail -n 1)
  [ "$2" = start ] || call scontrol update "JobId=$3" StartTime=now
  if is_inside "$3"; then call scontrol update "JobId=$3" "ReservationName=$reservation"; fi
  call scontrol release "$3"
  call scontrol update "JobId=$3" "Priority=$((${top:-0} + 1))"
  started="$started $3"
}

# The first place in the queue was for this turn only.
lower() {
  case " $started " in *" $3 "*) ;; *) return 0 ;; esac
  marks_of "$3"
  case $priority_type/${mark##*:} in
    */basic/[1-9]*) call scontrol update "JobId=$3" "Priority=${mark##*:}" ;;
    *) call scontrol release "$3" ;;
  esac
  [ -n "$dry" ] || say "Step $1: job $3 runs on $6."
}

add_left() {
  where "$@"
  case $now in
    'done') ;;
    to-do|leaving)
      left="$left $3"
      case $state/$reason in PENDING/None|[!P]*) ;; *) left="$left ($reason)" ;; esac ;;
    *) stop "job $3 $now" ;;
  esac
}

# Wait until the lines of a step and of some kinds are done.
await() {
  [ -z "$dry" ] || return 0
  until=$(($(date +%s) + patience))
  while :; do
    look
    left=''
    each "$1" "$2" add_left
    [ -n "$left" ] || return 0
    if [ "$3" = run ]; then
      bad=''
      check_states "$(folded "$(nodes_of "$1")")"
      look_reserved
      each "$1" 'start return' check_reserved
      [ -z "$bad" ] || stop "jobs$left cannot run:$bad"
    fi
    [ "$(date +%s)" -lt "$until" ] || stop "waited $patience s in vain for jobs$left to $3"
    sleep 1
  done
}

add_nodes() {
  where "$@"
  [ "$now" = 'done' ] || say "$6"
}

# Print the nodes of those that are still to start in some steps.
nodes_of() { names_in "$(each "$1" 'start return' add_nodes | paste -s -d , -)"; }

undo_line() {
  where "$@"
  step_out "$@"
  [ "$state" = PENDING ] || return 0
  marks_of "$3"
  # One that Slurm has queued again since still waits for the nodes of the plan.
  case $now/$2/$mark in
    */"kantopt:$plan_id:"*|to-do/return/) ;;
    *) return 0 ;;
  esac
  unpin "$3"
  call scontrol release "$3"
  case $priority_type/$prior in
    */basic/[1-9]*) call scontrol update "JobId=$3" "Priority=$prior" ;;
  esac
  say "Taken back: job $3 waits as it did before."
}

undo() {
  taking_back=yes
  look || return 1
  each all 'start return' undo_line
  if is_kept; then call scontrol delete "ReservationName=$reservation"; fi
  [ "$taking_back" = yes ]
}

report_line() {
  where "$@"
  case $now in 'done') is='done    ' ;; *) is='not done' ;; esac
  case $2 in evict|leave) say "  $is  job $3 leaves $6" ;; *) say "  $is  job $3 runs on $6" ;; esac
}

at_end() {
  code=$?
  trap - EXIT
  trap '' HUP INT TERM
  if [ -n "$touched" ] && [ -z "$finished" ]; then
    undo || say "Not all could be taken back; --undo tries again." >&2
    if look; then
      say "Of the plan:"
      each all 'evict leave start return' report_line
    else
      say "What of the plan is done is not known: no Slurm answers."
    fi
    tell_shut
    say "Run this again to go on, or make a new plan."
  fi
  exit "$code"
}
trap at_end EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

config=$(scontrol show config) || refuse "no Slurm answers"
setting() { printf '%s\n' "$config" | sed -n "s/^$1  *= //p"; }
here=$(setting ClusterName)
priority_type=$(setting PriorityType)
# With topology.yaml the plugin of the configuration need not be that of a partition.
case $(setting TopologyPlugin),$(scontrol show topology 2>/dev/null) in
  *block*,*|*,*BlockName=*) exclude=yes ;;
esac
say "Cluster $here: $what."
[ -z "$cluster" ] || [ "$cluster" = "$here" ] || refuse "the plan is for cluster $cluster"
if is_kept; then kept=yes; fi
if [ -n "$only_undo" ]; then
  finished=yes
  undo
  code=$?
  tell_shut
  exit "$code"
fi

bad='' wanted='' started='' reserved='' shown_before=''
look
look_reserved
each all 'evict leave start return' check_line
check_nodes
[ -z "$bad" ] || refuse "the plan is stale:$bad"
if [ -n "$dry" ]; then
  say "It would run, step by step, waiting for jobs to leave and to run:"
fi

close_emptied
each all 'start return' step_out
each all start pin
for step_now in $steps; do
  look
  lasting=$((60 + patience / 30))
  keep "$(folded "$(nodes_of "$step_now+")")"
  each "$step_now" 'evict leave' requeue
  await "$step_now" 'evict leave' leave
  each "$step_now" evict free_victim
  each "$step_now" return pin
  # Slurm starts nobody on nodes that are kept; the first in the queue gets them at once.
  later=$(nodes_of "$((step_now + 1))+" | grep -Fvx "$(nodes_of "$step_now")")
  let_in "$step_now"
  theirs=$(each "$step_now" 'start return' add_nodes_inside | paste -s -d , -)
  each "$step_now" 'start return' release
  keep "$(folded "$(printf '%s\n%s' "$later" "$(names_in "$theirs")" | grep . | sort -u)")"
  await "$step_now" 'start return' run
  each "$step_now" 'start return' step_out
  each "$step_now" 'start return' lower
done
keep ''
finished=yes
[ -z "$dry" ] || exit 0
case $plan in
  *' start '*|*' return '*)
    say "Jobs that it has started keep to their nodes, which Slurm changes for none that runs."
    say "If Slurm queues one again it waits for the same nodes: --undo lets it go anywhere." ;;
esac
tell_shut
say "Done."
