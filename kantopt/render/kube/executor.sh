usage() {
  cat <<'END'
usage: sh SCRIPT [--context=NAME] [--dry-run=server]
  --context=NAME     context of the kubeconfig; default: the current one
  --dry-run=server   have the API server check every request, change nothing
  --help
Seconds, from the environment:
  KANTOPT_POLL=2         between two looks at the cluster
  KANTOPT_MARGIN=60      for pods to be gone, beyond their grace period
  KANTOPT_READY=600      for pods to come back or to start
  KANTOPT_RETRY=300      for a request that is refused for now, as by a budget (429)
  KANTOPT_REQUEST=60     for one request
  KANTOPT_ANSWER=5       for the cluster to answer at all, before anything begins
  KANTOPT_MAX_AGE=3600   of the snapshot that the plan is for; 0: any
Ends with 0 if all is done, 1 if it stopped on the way, 2 if it was not told
well, 3 if it refused to begin. Run it again to go on where it stopped.
END
}

context='' dry='' now=0 seen='' cordoned='' wave='' surprised=''
KANTOPT_POLL=${KANTOPT_POLL:-2} KANTOPT_MARGIN=${KANTOPT_MARGIN:-60}
KANTOPT_READY=${KANTOPT_READY:-600} KANTOPT_RETRY=${KANTOPT_RETRY:-300}
KANTOPT_REQUEST=${KANTOPT_REQUEST:-60} KANTOPT_ANSWER=${KANTOPT_ANSWER:-5}
KANTOPT_MAX_AGE=${KANTOPT_MAX_AGE:-3600}
TAB=$(printf '\t')
LC_ALL=C
export LC_ALL

k() { kubectl --request-timeout="${KANTOPT_REQUEST}s" ${context:+"--context=$context"} "$@"; }
say() { printf '%s\n' "$*"; }
has() { case " $1 " in *" $2 "*) ;; *) return 1 ;; esac; } # names, one of them
clock() { now=$(date +%s); }

refuse() {
  say "REFUSED: $*" >&2
  say "Nothing was done." >&2
  exit 3
}

stop() {
  trap '' HUP INT TERM
  say "STOPPED${wave:+ in wave $wave}: $*" >&2
  look_once || say "The cluster does not answer; this is as it was seen last." >&2
  judge 0 | awk -F "$TAB" '
    $1 == "evict" || $1 == "move" || $1 == "bind" || $1 == "watch" {
      if (!($3 in all)) {
        order[++n] = $3; of[$3] = $2
        said[$3] = $1 == "watch" ? "bind " $3 ", left to you" : $1 " " $3
      }
      all[$3]++
      if ($1 == "watch" && $7 == "let") next
      if ($7 == "leaving" || $7 == "let") begun[$3]++
      else if ($7 != "todo" && $7 != "odd") done[$3]++
    }
    END {
      for (i = 1; i <= n; i++) {
        a = order[i]
        printf "  wave %s, %s: %d of %d pods done", of[a], said[a], done[a], all[a]
        printf "%s\n", begun[a] ? ", " begun[a] " begun" : ""
      }
    }' >&2
  if [ -n "$surprised" ]; then
    say "Run it again and it refuses, while that is so. What is left of the plan, to render anew: kantopt verify --against DUMP PLAN -O REST" >&2
  else
    say "Run it again to go on, or ask what is left: kantopt verify --against DUMP PLAN" >&2
  fi
  exit 1
}

surprise() { # something is not as the plan has it
  surprised=yes
  stop "$*"
}

later() { # whether a request may do better another time, by what was said of it
  case $1 in
  *'(TooManyRequests)'* | *'(Conflict)'* | *'(ServiceUnavailable)'* | *'(ServerTimeout)'* | \
    *'(Timeout)'* | *'refused'* | *'Unable to connect'* | *EOF* | *'timed out'* | \
    *'timeout'* | *'reset by peer'* | *'broken pipe'* | *'closed network connection'*) ;;
  *) return 1 ;;
  esac
}

# Pods of the namespaces of the plan, a line each: namespace, name, uid, version, node, whether it is
# being deleted, phase, uid of its controller, whether it is ready, gates, the node it is pinned to.
look_once() {
  looked=''
  for namespace in $NAMESPACES; do
    # shellcheck disable=SC2016
    part=$(k get pods --namespace="$namespace" --output=jsonpath='{range .items[*]}{.metadata.namespace}{"\t"}{.metadata.name}{"\t"}{.metadata.uid}{"\t"}{.metadata.resourceVersion}{"\t"}{.spec.nodeName}{"\t"}{.metadata.deletionTimestamp}{"\t"}{.status.phase}{"\t"}{.metadata.ownerReferences[?(@.controller==true)].uid}{"\t"}{.status.conditions[?(@.type=="Ready")].status}{"\t"}{.spec.schedulingGates[*].name}{"\t"}{.spec.nodeSelector.kubernetes\.io/hostname}{"\n"}{end}' 2>&1) || {
      error=$part
      return 1
    }
    looked="$looked$part
"
  done
  seen=$looked
}

patiently() { # a command again and again, while it may do better another time
  until=
  while ! "$@"; do
    clock
    if [ -z "$until" ]; then
      if ! later "$error" || [ "$KANTOPT_RETRY" -le 0 ]; then return 1; fi
      until=$((now + KANTOPT_RETRY))
      printf '%s\n' "No answer, tried again for up to $KANTOPT_RETRY s: $error" >&2
    elif ! later "$error" || [ "$now" -ge "$until" ]; then
      return 1
    fi
    sleep "$KANTOPT_POLL"
  done
}

look() { patiently look_once || stop "pods cannot be listed: $error"; }

# Compares the plan with what was seen. Lines: kind, wave, action, namespace, pod, uid, state, version
# or words. States: todo; odd; of pods that leave: leaving, gone; of pods that start: let, placed,
# ready. For who makes pods of moves anew, also: owner, wave, node, uid, wanted, come, ready, state,
# a pod that it makes anew, allowed (those of later waves come early where an earlier run stopped),
# names of those that have come.
# Argument: the wave up to which restarted pods have left; 0: as far as they have.
judge() {
  {
    steps
    say '=='
    printf '%s' "$seen"
  } | awk -v upto="$1" -v tab="$TAB" '
    function tell(i, state, words) {
      print kind[i] tab wave[i] tab action[i] tab ns[i] tab pod[i] tab uid[i] tab state tab words
    }
    $0 == "==" && !data { data = 1; FS = tab; next }
    !data && $1 == "known" { known[$2] = 1; next }
    !data && $1 ~ /^(evict|move|bind|watch)$/ {
      n++
      kind[n] = $1; wave[n] = $2; action[n] = $3; ns[n] = $4; pod[n] = $5; uid[n] = $6
      node[n] = $7; owner[n] = $8; target[n] = $10; host[n] = $11
      known[$6] = 1
      if ($1 == "move") {
        if (!($8 in moved)) moved[$8] = $4 "/" $5
        ends[$8 tab $10] = 1
      }
    }
    !data { next }
    NF < 3 { next }
    {
      at[$3] = $5; version[$3] = $4; phase[$3] = $7; by[$3] = $8; ready[$3] = $9
      dying[$3] = $6; gates[$3] = $10; pin[$3] = $11; there[$3] = 1
      ended = $7 == "Succeeded" || $7 == "Failed"
      if (($8 in moved) && !($3 in known) && !ended && $6 == "" && $5 != "") {
        come[$8 tab $5]++
        names[$8 tab $5] = names[$8 tab $5] (names[$8 tab $5] == "" ? "" : ", ") $2
        if ($9 == "True") up[$8 tab $5]++
        ends[$8 tab $5] = 1
      }
    }
    END {
      for (i = 1; i <= n; i++) {
        u = uid[i]
        over = phase[u] == "Succeeded" || phase[u] == "Failed"
        if (kind[i] == "evict" || kind[i] == "move") {
          if (!(u in there)) state = "gone"
          else if (over && kind[i] == "evict") state = "gone"
          else if (over) state = "odd"
          else if (dying[u] != "") state = "leaving"
          else if (at[u] != node[i] || by[u] != (owner[i] == "-" ? "" : owner[i])) state = "odd"
          else state = "todo"
          if (state == "odd") words = over ? "has ended by itself" : "is on " at[u] " or has another owner"
          else words = version[u]
          tell(i, state, words)
          if (kind[i] == "evict") { if (state != "todo") others[owner[i]]++ }
          else {
            left = state == "gone" || state == "leaving"
            due = upto == 0 ? left : wave[i] + 0 <= upto + 0
            if (due) want[owner[i] tab target[i]]++
            if (due || left) may[owner[i] tab target[i]]++
          }
          continue
        }
        if (!(u in there)) tell(i, "odd", "is gone, or another pod has its name")
        else if (phase[u] == "Failed") tell(i, "odd", "has failed")
        else if (dying[u] != "") tell(i, "odd", "is being deleted")
        else if (at[u] != "" && at[u] != node[i]) tell(i, "odd", "is on " at[u] ", not on " node[i])
        else if (at[u] != "") tell(i, ready[u] == "True" || phase[u] == "Succeeded" ? "ready" : "placed", version[u])
        else if (kind[i] == "watch") tell(i, "let", version[u])
        else if (gates[u] != "") tell(i, "todo", version[u])
        else if (pin[u] == host[i]) tell(i, "let", version[u])
        else tell(i, "odd", "was let go by somebody else")
      }
      for (key in ends) {
        split(key, part, tab)
        w = want[key] + 0; m = may[key] + 0; c = come[key] + 0
        if (c > m) beyond[part[1]] += c - m
        # Pods that replace evicted ones of the same owner may be anywhere.
        state = beyond[part[1]] > others[part[1]] + 0 ? "odd" : (up[key] + 0 < w ? "waits" : "ready")
        print "owner" tab upto tab part[2] tab part[1] tab w tab c tab up[key] + 0 tab state tab moved[part[1]] tab m tab names[key]
      }
    }'
}

odd() { # the first thing that is not as the plan has it, of one wave or, for 0, of all
  judge "$2" | awk -F "$TAB" -v upto="$1" '
    $1 == "owner" && $8 == "odd" {
      printf "of the owner of %s (uid %s), pods that the plan does not know are on node %s: found %d (%s), expected %d\n", $9, $4, $3, $6, $11, $10
      exit
    }
    $1 != "owner" && $7 == "odd" && (upto == 0 || $2 == upto) {
      printf "pod %s/%s (uid %s, %s %s): it %s\n", $4, $5, $6, $1, $3, $8
      exit
    }'
}

evict_once() { # namespace, pod, uid, version, grace
  case $4 in '' | *[!A-Za-z0-9._:-]*)
    error="the version '$4' is no version"
    return 1
    ;;
  esac
  period=''
  if [ "$5" != - ]; then period="\"gracePeriodSeconds\":$5,"; fi
  error=$(printf '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"%s","namespace":"%s"},"deleteOptions":{%s"preconditions":{"uid":"%s","resourceVersion":"%s"}}}\n' \
    "$2" "$1" "$period" "$3" "$4" |
    k create --raw "/api/v1/namespaces/$1/pods/$2/eviction${dry:+?dryRun=All}" -f - 2>&1 >/dev/null)
}

try_once() { # the same, as a trial: a node that is to be open for it stays closed until it would pass
  dry=server
  evict_once "$@"
  set -- "$?"
  dry=''
  return "$1"
}

pin_once() { # namespace, pod, uid, version, grace, patch
  error=$(k patch pod "$2" --namespace="$1" --type=json ${dry:+--dry-run=server} --patch="$6" 2>&1 >/dev/null </dev/null)
}

# Does one step for a pod that was seen as it should be; after a refusal the pod is looked at again.
act() { # what, namespace, pod, uid, version, grace, patch
  what=$1 namespace_=$2 pod_=$3 uid_=$4 version_=$5 grace_=$6 patch_=$7
  say "wave $wave: $what $namespace_/$pod_ (uid $uid_)${dry:+, a trial}"
  clock
  until_=$((now + KANTOPT_RETRY)) told_=''
  while ! "${what}_once" "$namespace_" "$pod_" "$uid_" "$version_" "$grace_" "$patch_"; do
    refused=$error
    look
    line=$(judge 0 | awk -F "$TAB" -v u="$uid_" '$6 == u && $1 ~ /^(evict|move|bind)$/ { print $7 "\t" $8; exit }')
    state=${line%%"$TAB"*} version_=${line#*"$TAB"}
    if [ "$state" != todo ] && [ "$state" != odd ]; then return 0; fi
    clock
    if [ "$state" = odd ]; then surprise "$namespace_/$pod_ (uid $uid_): it $version_ ($refused)"; fi
    if ! later "$refused"; then stop "$what $namespace_/$pod_ (uid $uid_): $refused"; fi
    if [ "$now" -ge "$until_" ]; then
      stop "$what $namespace_/$pod_ (uid $uid_): still refused after ${KANTOPT_RETRY} s: $refused"
    fi
    if [ -z "$told_" ]; then
      say "wave $wave: $what $namespace_/$pod_: refused for now, tried again for up to ${KANTOPT_RETRY} s: $refused" >&2
      told_=yes
    fi
    sleep "$KANTOPT_POLL"
  done
}

# Nodes, a line each: name, uid, version, whether it is cordoned, our mark, hostname label, ready.
nodes_once() {
  nodes=$(k get nodes --output=jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.metadata.uid}{"\t"}{.metadata.resourceVersion}{"\t"}{.spec.unschedulable}{"\t"}{.metadata.annotations.kantopt/cordoned-by}{"\t"}{.metadata.labels.kubernetes\.io/hostname}{"\t"}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' 2>&1) || {
    error=$nodes
    return 1
  }
}

node_line() { printf '%s\n' "$nodes" | awk -F "$TAB" -v n="$1" '$1 == n { print; exit }'; }

# Node, and cordon or uncordon it, or close it for good: only if nobody has changed the node since it
# was looked at. What is closed for good bears no mark of ours, and so is not opened again.
mark_once() {
  nodes_once || return 1
  line=$(node_line "$1")
  [ -n "$line" ] || return 0
  version=$(printf '%s\n' "$line" | cut -f 3)
  shut=$(printf '%s\n' "$line" | cut -f 4)
  mark=$(printf '%s\n' "$line" | cut -f 5)
  if [ "$2" != uncordon ] && [ -n "$shut" ]; then return 0; fi
  if [ "$2" = close ]; then
    body="{\"metadata\":{\"resourceVersion\":\"$version\"},\"spec\":{\"unschedulable\":true}}"
  elif [ "$2" = cordon ]; then
    body="{\"metadata\":{\"resourceVersion\":\"$version\",\"annotations\":{\"kantopt/cordoned-by\":\"$PLAN\"}},\"spec\":{\"unschedulable\":true}}"
  else
    if [ "$mark" != "$PLAN" ]; then return 0; fi
    body="{\"metadata\":{\"resourceVersion\":\"$version\",\"annotations\":{\"kantopt/cordoned-by\":null}},\"spec\":{\"unschedulable\":null}}"
  fi
  say "$2 node $1${dry:+, a trial}"
  error=$(k patch node "$1" --type=merge ${dry:+--dry-run=server} --patch="$body" 2>&1 >/dev/null)
}

uncordon() { # nodes, as far as this script has cordoned them
  left=''
  for node in $cordoned; do
    if ! has "$1" "$node"; then
      left="$left $node"
      continue
    fi
    if ! patiently mark_once "$node" uncordon; then
      left="$left $node"
      say "STILL CORDONED: $node ($error); run this again, or: kubectl uncordon $node" >&2
    fi
  done
  cordoned=$left
  for node in $1; do
    if has "$left" "$node"; then return 1; fi
  done
}

cleanup() {
  code=$?
  trap '' HUP INT TERM
  trap - EXIT
  if [ -n "$cordoned" ] && ! uncordon "$cordoned"; then [ "$code" != 0 ] || code=1; fi
  exit "$code"
}

answer() { # whether anybody does: one small request, by which kubectl tries nothing again
  error=$(k get --raw=/version --request-timeout="${KANTOPT_ANSWER}s" 2>&1 >/dev/null </dev/null)
}

check_cluster() {
  server=$(k config view --minify --output='jsonpath={.clusters[0].cluster.server}' 2>/dev/null) || server=''
  say "Cluster: server ${server:-unknown}, context ${context:-$(k config current-context 2>/dev/null || say none)}"
  # Nothing has begun: who runs it hears at once that nobody answers, and may try again.
  answer || ! later "$error" || refuse "the cluster does not answer: $error"
  nodes_once || refuse "nodes cannot be listed: $error"
  if [ -n "$CLUSTER" ]; then
    found=$(k get namespace kube-system --output='jsonpath={.metadata.uid}' 2>&1) ||
      refuse "the cluster cannot be told: $found"
    if [ "$found" != "$CLUSTER" ]; then
      refuse "another cluster: kube-system has uid $found, the plan is for $CLUSTER"
    fi
    say "Cluster: kube-system has the uid that the plan knows, $found"
  fi
  wrong=$({
    steps
    say '=='
    printf '%s\n' "$nodes"
  } | awk -v tab="$TAB" -v plan="$PLAN" '
    $0 == "==" && !data { data = 1; FS = tab; next }
    !data && $1 == "node" { n++; name[n] = $2; uid[n] = $3; host[n] = $4; role[n] = $5 }
    !data { next }
    { is[$1] = $2; closed[$1] = $4; mark[$1] = $5; label[$1] = $6; up[$1] = $7 }
    END {
      for (i = 1; i <= n; i++) {
        m = name[i]
        if (!(m in is)) print "node " m " is not there"
        else if (uid[i] != "-" && is[m] != uid[i]) print "node " m " is another one: uid " is[m] ", not " uid[i]
        else if (role[i] != "target") continue
        else if (label[m] != host[i]) print "node " m " has the hostname label " label[m] ", not " host[i]
        else if (closed[m] != "" && mark[m] != plan) print "node " m " is cordoned, and pods are to start there"
        else if (up[m] != "True") print "node " m " is not ready, and pods are to start there"
      }
    }')
  if [ -n "$wrong" ]; then
    printf '%s\n' "$wrong" >&2
    refuse "the plan is stale, or for another cluster"
  fi
}

check_age() {
  if [ "$KANTOPT_MAX_AGE" = 0 ]; then return 0; fi
  if [ "$CAPTURED" = 0 ]; then
    say "The plan does not say of when its snapshot is: its age is not checked."
    return 0
  fi
  clock
  age=$((now - CAPTURED))
  if [ "$age" -gt "$KANTOPT_MAX_AGE" ]; then
    refuse "the plan is for a snapshot of $((age / 60)) minutes ago; make it anew, cut it by 'kantopt verify --against DUMP PLAN', or set KANTOPT_MAX_AGE"
  fi
}

undo_what_was_left() { # cordons of a run that was killed
  others=$(printf '%s\n' "$nodes" | awk -F "$TAB" -v mark="$PLAN" '
    $4 != "" && $5 != "" && $5 != mark { printf " %s", $1 }')
  if [ -n "$others" ]; then
    say "Cordoned by the script of another plan, which still runs or was killed:$others"
  fi
  left=$(printf '%s\n' "$nodes" | awk -F "$TAB" -v mark="$PLAN" '$5 == mark { print $1 }')
  if [ -z "$left" ] || [ -n "$dry" ]; then return 0; fi
  for node in $left; do cordoned="$cordoned $node"; done
  say "An earlier run left nodes cordoned:$cordoned"
  uncordon "$cordoned" || refuse "they stay cordoned"
}

close_drained() { # nodes that the plan empties
  for node in $DRAINED; do
    patiently mark_once "$node" close || stop "node $node cannot be cordoned: $error"
  done
}

check_plan() {
  look_once || refuse "pods cannot be listed: $error"
  wrong=$(odd 0 0)
  if [ -n "$wrong" ]; then refuse "the plan is stale: $wrong"; fi
}

some() { # whether a step of a wave, or of any for 0, is in one of some states
  printf '%s\n' "$states" | awk -F "$TAB" -v wave="$1" -v which=" $2 " '
    $1 != "owner" && (wave == 0 || $2 == wave) && index(which, " " $7 " ") { found = 1 }
    END { exit !found }'
}

# Its number, whether others wait for it, nodes to cordon until it ends, nodes to cordon for longer,
# nodes to open again once its pods are let go, those of them to open before others replace its pods.
run_wave() {
  wave=$1 awaited=$2 meanwhile=$3 opened=$5 early=$6
  look
  wrong=$(odd "$wave" 0)
  if [ -n "$wrong" ]; then surprise "$wrong"; fi
  states=$(judge 0)
  if ! some "$wave" "todo leaving"; then meanwhile=''; fi
  closed=$meanwhile
  if some 0 todo; then closed="$closed $4"; fi
  for node in $closed; do
    if [ -z "$dry" ]; then cordoned="$cordoned $node"; fi
    patiently mark_once "$node" cordon || stop "node $node cannot be cordoned: $error"
  done
  grace=0
  while read -r kind_ wave_ _ ns_ name_ id_ _ _ period_ to_ _ patch_; do
    if [ "$wave_" != "$wave" ]; then continue; fi
    case $kind_ in
    evict | move) how=evict ;;
    bind) how=pin ;;
    *) continue ;;
    esac
    if [ "$period_" != - ] && [ "$period_" -gt "$grace" ]; then grace=$period_; fi
    line=$(printf '%s\n' "$states" | awk -F "$TAB" -v u="$id_" '$6 == u && $1 ~ /^(evict|move|bind)$/ { print $7 "\t" $8; exit }')
    if [ "${line%%"$TAB"*}" = todo ]; then
      version_=${line#*"$TAB"}
      if has "$early" "$to_" && has "$cordoned" "$to_"; then
        act try "$ns_" "$name_" "$id_" "$version_" "$period_" "$patch_"
        uncordon "$to_" || stop "nodes stay cordoned"
      fi
      act "$how" "$ns_" "$name_" "$id_" "$version_" "$period_" "$patch_"
    fi
  done <<END
$(steps)
END
  if [ -n "$dry" ]; then return 0; fi
  uncordon "$opened" || stop "nodes stay cordoned"
  await "$grace"
  uncordon "$meanwhile" || stop "nodes stay cordoned"
  say "wave $wave: done"
}

await() { # grace: until those who leave are gone, and those who come are there
  clock
  gone_by=$((now + $1 + KANTOPT_MARGIN)) there_by=''
  while :; do
    look
    wrong=$(odd "$wave" "$wave")
    if [ -n "$wrong" ]; then surprise "$wrong"; fi
    waits=$(judge "$wave" | awk -F "$TAB" -v wave="$wave" -v awaited="$awaited" '
      $1 == "owner" && $8 == "waits" {
        come = come sprintf("; %d of %d pods of the owner of %s (uid %s) are ready on node %s", $7, $5, $9, $4, $3)
      }
      $2 != wave || $1 == "owner" { next }
      ($1 == "evict" || $1 == "move") && $7 != "gone" { go = go "; " $4 "/" $5 " (uid " $6 ") is not gone" }
      ($1 == "bind" || $1 == "watch") && $7 != "ready" && (awaited == "yes" || $7 != "placed") {
        come = come "; " $4 "/" $5 " (uid " $6 ") has not " ($7 == "placed" ? "become ready" : "started")
      }
      END { print (go != "" ? "go" substr(go, 2) : (come != "" ? "come" substr(come, 2) : "")) }')
    clock
    case $waits in
    '') return 0 ;;
    go*) if [ "$now" -ge "$gone_by" ]; then stop "after $1 s of grace and $KANTOPT_MARGIN s:${waits#go}"; fi ;;
    come*)
      there_by=${there_by:-$((now + KANTOPT_READY))}
      if [ "$now" -ge "$there_by" ]; then stop "after $KANTOPT_READY s:${waits#come}"; fi
      ;;
    esac
    sleep "$KANTOPT_POLL"
  done
}

main() {
  for argument; do
    case $argument in
    --context=?*) context=${argument#--context=} ;;
    --dry-run=server) dry=server ;;
    --help | -h)
      about
      usage
      exit 0
      ;;
    *)
      case $argument in
      --dry-run*) expected='--dry-run=server (the API server checks every request, nothing changes)' ;;
      *) expected='one of the options below' ;;
      esac
      say "found '$argument', expected $expected" >&2
      usage >&2
      exit 2
      ;;
    esac
  done
  for number in "$KANTOPT_MARGIN" "$KANTOPT_READY" "$KANTOPT_RETRY" "$KANTOPT_REQUEST" \
    "$KANTOPT_ANSWER" "$KANTOPT_MAX_AGE"; do
    case $number in '' | *[!0-9]*)
      say "found '$number', expected a number of seconds" >&2
      exit 2
      ;;
    esac
  done
  about
  check_cluster
  check_age
  trap cleanup EXIT
  trap 'stop "told to end by a signal"' HUP INT TERM
  undo_what_was_left
  check_plan
  close_drained
  waves
  wave=''
  if [ -n "$dry" ]; then
    say "All requests were accepted; nothing was changed."
  else
    say "All is done that this script does."
  fi
}
