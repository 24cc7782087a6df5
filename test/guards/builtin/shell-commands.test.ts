// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of a shell have them
import { describe, expect, it, test } from 'vitest'
import { readCommands, type ShellCommand } from '../../../src/guards/builtin/shell-commands.ts'
import type { ShellDoubt } from '../../../src/guards/builtin/shell-words.ts'
import fc from '../../support/fast-check.ts'
import { SAMPLED, sample } from '../../support/sample.ts'

/** One line a text: its commands, `?` for what an expansion decides, and why there may be more. */
function shown(text: string): string {
  const { commands, why } = readCommands(text)
  return [...commands.map(line), ...(why === undefined ? [] : [`(${why})`])].join(' | ')
}

function line({ name, args, redirects }: ShellCommand): string {
  const files = redirects.map(target => `> ${target ?? '?'}`)
  return [name, ...args.map(arg => arg ?? '?'), ...files].join(' ')
}

describe('a line of commands', () => {
  it.each([
    ['ls', 'ls'],
    ['', ''],
    ['git status && ls', 'git status | ls'],
    ['sleep 1 & rm x', 'sleep 1 | rm x'],
    ['a & b', 'a | b'],
    ['cat x | grep y || rm z; wc', 'cat x | grep y | rm z | wc'],
    ['(rm x)', 'rm x'],
    ['{ rm x; }', 'rm x'],
    ['! rm x', 'rm x'],
    ['time rm x', 'rm x'],
    ['f() { rm x; }', 'rm x'],
    ['function f { rm x; }; f', 'rm x | f'],
    ['if a; then b; elif c; then d; else e; fi', 'a | b | c | d | e'],
    ['while a; do b; done', 'a | b'],
    ['for i in $(a); do b $i; done', 'a | b ?'],
    ['for ((i=$(a); i<3; i++)); do b; done', 'a | b'],
    ['case $(a) in x) b;; $(c)) d;; esac', 'a | b | c | d'],
    ['select i in a; do rm $i; done', 'rm ?'],
    ['coproc rm x', 'rm x'],
    ['[[ -f $(rm x) && $(a) = b ]]', 'rm x | a'],
    ['[ -f x ] && rm x', '[ -f x ] | rm x'],
    ['(( a = $(rm x) ))', 'rm x'],
    ['echo $(rm x) `rm y` "$(rm z)" "`rm w`"', 'echo ? ? ? ? | rm x | rm y | rm z | rm w'],
    ['echo "`echo \\`rm x\\``"', 'echo ? | echo ? | rm x'],
    ['echo ${a:-$(rm x)} ${b[$(rm y)]}', 'echo ? ? | rm x | rm y'],
    ['echo $((1 + $(rm x))) $[ $(rm y) ]', 'echo ? ? | rm x | rm y'],
    ['echo ${ rm x; } ${| rm y; }', 'echo ? ? | rm x | rm y'],
    ['diff <(rm x) >(rm y)', 'diff ? ? | rm x | rm y'],
    ['echo @($(rm x)|b) {a,$(rm y)}', 'echo ? ? | rm x | rm y'],
    ['a=$(rm x)', 'rm x'],
    ['a=(x $(rm y)) b', 'b | rm y'],
    ['export a=$(rm x)', 'export ? | rm x'],
    ['cat <<< $(rm x)', 'cat | rm x'],
    ['# rm x\nls # rm y', 'ls'],
    ['ls\r\nrm x\r\n', 'ls | rm x'],
    ['a\n\nb', 'a | b'],
  ])('has all commands of %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

describe('a command', () => {
  it.each([
    ["r''m -rf x", 'rm -rf x'],
    ['r""m x', 'rm x'],
    ['"rm" x', 'rm x'],
    ['\\rm x', 'rm x'],
    ['r\\m x', 'rm x'],
    ['r\\\nm x', 'rm x'],
    ["$'\\x72m' x", 'rm x'],
    ["$'\\162\\u006d' x", 'rm x'],
    ['$"rm" x', 'rm x'],
    ['/bin/rm x', 'rm x'],
    ['../../bin/rm x', 'rm x'],
    ['~/bin/rm x', 'rm x'],
    ['"$HOME"/bin/rm ${HOME}/x $HOME "$HOME/y z"', 'rm ~/x ~ ~/y z'],
    ["rm '~/x' '$HOME/x' \\~/x ~/y", 'rm ? ? ? ~/y'],
    ['rm $HOMES ${HOME}s ${HOME:-x} $x/y a$x', 'rm ? ? ? ? ?'],
    ['rm *.ts a? [ab] {a,b} +(a) "*"', 'rm ? ? ? ? ? *'],
    ['rm \'a b\' a\\ b "a b"', 'rm a b a b a b'],
    ['rm -- "-rf"', 'rm -- -rf'],
    ['dd if=/dev/zero of=x', 'dd if=/dev/zero of=x'],
    ['X=1 Y=2 rm x', 'rm x'],
  ])('has the words that the program gets: %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

test.each([
  ['rm *.ts "$HOME"/*/x ~/[ab]', ['*.ts', '~/*/x', '~/*']],
  ['rm $x/* {a,b}* "*" +(a)', []],
])('has patterns of file names in %j', (text, globs) => {
  expect(readCommands(text).commands[0]?.globs).toEqual(globs)
})

describe('data', () => {
  it.each([
    ['cat <<E\nrm x\nE', 'cat'],
    ["cat <<'E'\n$(rm x)\nE", 'cat'],
    ['cat <<-E\n\trm x\n\tE\nls', 'cat | ls'],
    ['cat <<E\n$(rm x)\nE', 'cat | rm x'],
    ["echo 'rm x; $(rm y)'", 'echo rm x; $(rm y)'],
    ['echo "a; rm x"', 'echo a; rm x'],
    ['git commit -m "rm: remove; rm -rf"', 'git commit -m rm: remove; rm -rf'],
    ["printf '`%s`' x", 'printf `%s` x'],
    ['grep "rm|sh" x', 'grep rm|sh x'],
    ['echo a;echo b#c', 'echo a | echo b#c'],
  ])('stays data in %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

describe('the list of written and read files', () => {
  it.each([
    ['echo x > a', 'echo x > a'],
    ['echo x >>"$HOME/a" 2>&1', 'echo x > ~/a'],
    ['cat < a > "b c"', 'cat > a > b c'],
    ['a &> b', 'a > b'],
    ['a >& b', 'a > b'],
    ['a >| b', 'a > b'],
    ['> a', ' > a'],
    ['a > $b', 'a > ?'],
    ['a > *.x', 'a > ?'],
    ['{ a; b; } > c', ' > c | a | b'],
    ['while read l; do a; done < c', ' > c | read l | a'],
    ['cat < <(a) 2>/dev/null', 'cat > /dev/null | a'],
    ['a 2>&- <&3 >&2', 'a'],
    ['exec 3<>/dev/tcp/h/80', 'exec > /dev/tcp/h/80'],
  ])('includes those of %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

describe('a program that runs another', () => {
  it.each([
    ['env rm x', 'env rm x | rm x'],
    ['env -i -u A B=c D= rm x', 'env -i -u A B=c D= rm x | rm x'],
    ['env - A=b rm x', 'env - A=b rm x | rm x'],
    ["env -S 'rm x' y", 'env -S rm x y | rm x y'],
    ['env --unset=A --unset B rm x', 'env --unset=A --unset B rm x | rm x'],
    ['command rm x', 'command rm x | rm x'],
    ['command -v rm', 'command -v rm'],
    ['builtin cd x', 'builtin cd x | cd x'],
    ['exec -a name rm x', 'exec -a name rm x | rm x'],
    ['sudo rm x', 'sudo rm x | rm x'],
    ['sudo -u root -E -- rm x', 'sudo -u root -E -- rm x | rm x'],
    ['sudo --user=root A=b rm x', 'sudo --user=root A=b rm x | rm x'],
    ['sudo -nu root rm x', 'sudo -nu root rm x | rm x'],
    ['sudo -s rm x', 'sudo -s rm x | rm x'],
    ['sudo -l', 'sudo -l'],
    ['doas -u root rm x', 'doas -u root rm x | rm x'],
    ['nohup rm x &', 'nohup rm x | rm x'],
    ['nice -n 5 rm x', 'nice -n 5 rm x | rm x'],
    ['nice -5 rm x', 'nice -5 rm x | rm x'],
    ['ionice -c 2 -n 0 rm x', 'ionice -c 2 -n 0 rm x | rm x'],
    ['\\time -f %e rm x', 'time -f %e rm x | rm x'],
    ['timeout 5 rm x', 'timeout 5 rm x | rm x'],
    ['timeout -k 1 --sig KILL 5s rm x', 'timeout -k 1 --sig KILL 5s rm x | rm x'],
    ['stdbuf -oL -e 0 rm x', 'stdbuf -oL -e 0 rm x | rm x'],
    ['setsid -w rm x', 'setsid -w rm x | rm x'],
    ['xargs rm', 'xargs rm | rm ?'],
    ['xargs -0 -n 1 -P4 rm -f', 'xargs -0 -n 1 -P4 rm -f | rm -f ?'],
    ['xargs -I% rm a/% b', 'xargs -I% rm a/% b | rm ? b ?'],
    ['xargs', 'xargs'],
    ['find . -name x -exec rm {} \\;', 'find . -name x -exec rm {} ; | rm ?'],
    ['find . -exec a {} + -execdir b {}/c \\; -delete', 'find . -exec a {} + -execdir b {}/c ; -delete | a ? | b ?'],
    ['find . -ok rm {} \\;', 'find . -ok rm {} ; | rm ?'],
    ['find . -delete', 'find . -delete'],
    ['find src/*.d -name "*.ts"', 'find ? -name *.ts'],
    ['fd -e ts -x rm', 'fd -e ts -x rm | rm ?'],
    ["watch -n 1 'rm x; ls'", 'watch -n 1 rm x; ls | rm x | ls'],
    ['watch -x rm "a;b"', 'watch -x rm a;b | rm a;b'],
    ['parallel rm ::: a b', 'parallel rm ::: a b | rm ?'],
    ["parallel -j 4 'rm {}; ls' ::: a", 'parallel -j 4 rm {}; ls ::: a | rm {} | ls ?'],
    ['busybox rm x', 'busybox rm x | rm x'],
    ['busybox sh -c "rm x"', 'busybox sh -c rm x | sh -c rm x | rm x'],
    ["bash -c 'rm x'", 'bash -c rm x | rm x'],
    ["bash -lc 'rm x'", 'bash -lc rm x | rm x'],
    ["bash -c -x 'rm x' name", 'bash -c -x rm x name | rm x'],
    ["bash -euo pipefail -c 'rm x'", 'bash -euo pipefail -c rm x | rm x'],
    ["bash +x -c 'rm x'", 'bash +x -c rm x | rm x'],
    ['/bin/sh -c \'sh -c "rm x"\'', 'sh -c sh -c "rm x" | sh -c rm x | rm x'],
    ["zsh -c 'rm x'; dash -c 'rm y'; ksh -c 'rm z'", 'zsh -c rm x | rm x | dash -c rm y | rm y | ksh -c rm z | rm z'],
    ['bash script.sh rm', 'bash script.sh rm'],
    ['bash --version', 'bash --version'],
    ["eval rm 'x; ls'", 'eval rm x; ls | rm x | ls'],
    ["trap 'rm x' EXIT", 'trap rm x EXIT | rm x'],
    ['trap - EXIT', 'trap - EXIT'],
    ['flock /tmp/l rm x', 'flock /tmp/l rm x | rm x'],
    [
      'sudo env A=b nice timeout 5 rm x',
      'sudo env A=b nice timeout 5 rm x | env A=b nice timeout 5 rm x | nice timeout 5 rm x | timeout 5 rm x | rm x',
    ],
    [
      'sudo bash -c "rm x" | xargs sh -c "ls"',
      'sudo bash -c rm x | bash -c rm x | rm x | xargs sh -c ls | sh -c ls ? | ls',
    ],
    ['npx -y rimraf x', 'npx -y rimraf x | rimraf x'],
    ['npm exec -- rimraf x', 'npm exec -- rimraf x | rimraf x'],
    ['pnpm dlx rimraf x', 'pnpm dlx rimraf x | rimraf x'],
    ['uv run rm x', 'uv run rm x | rm x'],
    ['npm test', 'npm test'],
    ['su -c "rm x" root', 'su -c rm x root | rm x'],
    ['runuser -u me -- rm x', 'runuser -u me -- rm x | rm x'],
    ['noglob rm *', 'noglob rm ? | rm ?'],
    ['git bisect run rm x', 'git bisect run rm x | rm x'],
    ["git submodule foreach 'rm x'", 'git submodule foreach rm x | rm x'],
    ["git rebase -x 'rm x' main", 'git rebase -x rm x main | rm x'],
    ['git rebase --exec="rm x" main', 'git rebase --exec=rm x main | rm x'],
    ["tar --to-command='rm x' -xf a", 'tar --to-command=rm x -xf a | rm x'],
    ["tar --checkpoint-action=exec='rm x' -xf a", 'tar --checkpoint-action=exec=rm x -xf a | rm x'],
    ["rsync -e 'rm x' a b", 'rsync -e rm x a b | rm x'],
    ["PAGER='rm x' git log", 'git log | rm x'],
    ["env GIT_EDITOR='rm x' git commit", 'env GIT_EDITOR=rm x git commit | git commit | rm x'],
  ])('is found in %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

/** By the reason that is given. */
const UNKNOWN: Readonly<Record<ShellDoubt, readonly string[]>> = {
  'it cannot be parsed': [
    "echo 'a",
    'echo "a',
    'echo $(',
    'echo `a',
    'if a',
    'for i in a; rm $i',
    '&& ls',
    'a |',
    '(rm x',
    'rm x)',
    '{ rm x }',
    "bash -c 'if'",
    'echo $(if)',
  ],
  'it is too long': [`rm ${'x'.repeat(65_536)}`],
  'it is nested too deeply': [
    `echo ${'$(echo '.repeat(30)}ls ${'x '.repeat(16_384)}${')'.repeat(30)}`,
    `${'sudo '.repeat(20)}rm x`,
    `${'eval '.repeat(12)}rm x`,
  ],
  'it holds a control character': ['ls\0rm', 'ls\u001b', 'ls\rrm x', 'ls\u0085x'],
  'the name of a command comes from an expansion': [
    ...['rm$IFS-rf$IFS/', '$(echo rm) x', '`echo rm` x', 'a=rm; $a x', '"${a}" x', 'r$a x', '${a:-rm} x', '$* x'],
    ...['{rm,-rf,/}', '/bin/r? x', 'r*m x', '[r]m x', '=rm x', 'env A=b $a x', 'xargs -I{} {} x', 'nice -n 5 -- "$@"'],
    ...['find . -exec {} \\;', "bash -c '$0 x' rm", 'parallel {} ::: rm', 'git $a', 'true && $a', 'echo $($a)'],
  ],
  'an option in front of a command is not known': [
    ...['sudo $a rm x', 'sudo -u $a rm x', 'sudo --never-heard rm x', 'timeout -z 5 rm x', 'timeout $t rm x'],
    ...['npm $a rimraf x', 'bash --never-heard -c ls'],
  ],
  'code is handed to an interpreter': [
    ...["python -c 'x'", "python3.12 -Bc 'x'", "node -e 'x'", "node --eval='x'", "node -pe 'x'", "php -r 'x'"],
    ...["node --import 'data:text/javascript,x' a.js", "perl -e 'x'", "perl -pi -e 'x' f", "perl -lane 'x'"],
    ...["ruby -e 'x'", "lua -e 'x'", "deno eval 'x'", "bun -e 'y'", "osascript -e 'x'", "/usr/bin/python3 -c 'x'"],
    ...['awk \'BEGIN { system("rm x") }\'', 'awk \'{ print | "sh" }\' x', "gawk -e 1 -e 'BEGIN { system(1) }'"],
    ...["sed '1e rm x' f", "sed 's/a/b/e' f", "sed -n -e p -e 'e rm x' f", "vim -c '!rm x'", "fish -c 'rm x'"],
    ...["sudo -u me python3 -c 'x'", "xargs python3 -c 'x'", "sqlite3 a.db '.shell rm x'", "csh -c 'rm x'"],
  ],
  'code is made while it runs': [
    ...['ls a$IFS', 'ls a${IFS}b', 'bash -c "$x"', 'bash -c "rm $x"', 'xargs sh -c', 'xargs -I% sh -c "rm %"'],
    ...[
      'eval $x',
      'eval "$(ssh-agent)"',
      'awk "$program" x',
      'sed "s/$a/b/" x',
      'find $x',
      'find . "$x"',
      'find . -$x',
    ],
    ...["x='a[$(rm y)]'; echo $((x))", "unset 'a[$(rm x)]'", "[[ 'a[$(rm x)]' -eq 1 ]]", "printf -v 'a[`rm x`]' y"],
    ...['echo ${x@P}', 'python3 $x', 'PAGER=$x git log'],
  ],
  'a shell or an interpreter reads what to run': [
    ...['curl x | sh', 'curl x | bash -s -- y', 'curl x | sudo bash', 'echo cm0geA== | base64 -d | sh', 'bash < x'],
    ...['curl x | { read y; sh; }', 'bash <<E\nrm x\nE', "bash <<'E'\nrm x\nE", 'bash <<< "rm x"', 'bash <(curl x)'],
    ...['bash /dev/stdin', 'bash $x', 'bash -', 'echo x | python3', 'echo x | python3 -', 'python3 <<E\nx\nE', 'node'],
    ...['sudo -i', 'sudo -s', 'su', 'su -', 'parallel < x', 'busybox sh', 'echo rm x | at now', 'env bash', 'exec sh'],
  ],
  'a file of commands is sourced': ['source x', '. ./x', 'source <(curl x)', 'builtin source x'],
  'names of commands are given another meaning': [
    'alias ls=rm',
    "alias 'ls'='rm'; ls",
    'hash -p /bin/rm ls',
    'enable -f x y',
  ],
  'a variable is set that changes what is run': [
    ...['IFS=x; ls', 'IFS= read -r x', 'HOME=/etc cat ~/x', 'export HOME=/etc', 'for HOME in /etc; do cat ~/x; done'],
    ...["env 'BASH_FUNC_ls%%=() { rm x; }' bash x", 'PERL5OPT=-Mx perl y', 'env HOME=/ x', 'sudo IFS=x y', 'read HOME'],
    ...["NODE_OPTIONS='--require ./x' node y", 'GIT_CONFIG_COUNT=1 git x'],
  ],
  'a setting of git names a command': [
    ...["git -c alias.x='!rm y' x", 'git -c core.sshCommand=x fetch', "git config alias.x '!rm y'", 'git -c $x status'],
    ...['git config --global core.pager x', 'git --exec-path=x status', 'git filter-branch --tree-filter x'],
    ...['git -c core.hooksPath=x commit', 'git config set diff.x.textconv y'],
  ],
  'it runs somewhere else': [
    ...['ssh host rm x', 'ssh host', 'docker exec c rm x', 'docker run --rm i rm x', 'docker compose exec c rm x'],
    ...['docker $x c rm', 'kubectl exec p -- rm x', 'kubectl -n n exec p -- rm x', 'tmux new-session "rm x"'],
  ],
  'the working directory is changed by an option': ['env -C /etc rm x', 'sudo -D /etc rm x', 'sudo --chdir=/etc ls'],
  'it is a command of Windows': [
    ...[
      'cmd /c del x',
      'powershell -Command x',
      'del /f x',
      'rmdir /s /q x',
      'Remove-Item -Recurse x',
      'remove-item x',
    ],
    ...['Get-ChildItem | ForEach-Object { x }', 'type C:\\Users\\x', 'dir "C:\\Users"', './x.exe', 'echo $env:PATH'],
  ],
}

describe('a line that may run more than it shows', () => {
  const cases = Object.entries(UNKNOWN).flatMap(([why, texts]) => texts.map(text => [text.slice(0, 60), why, text]))

  it.each(cases)('is unknown: %j: %s', (_, why, text) => {
    expect(readCommands(text)).toMatchObject({ isUnknown: true, why })
  })

  it.each([
    ['rm x; $a y', 'rm x'],
    ['rm x\nif', 'rm x'],
    ['rm x | sh', 'rm x | sh'],
    ['sudo -u "$a" rm x', 'sudo -u ? rm x | rm x'],
    ['bash -c "rm $x"', 'bash -c ? | rm'],
    ['ssh -p 22 host "rm x; ls"', 'ssh -p 22 host rm x; ls | rm x | ls'],
    ['find $x -exec rm {} \\;', 'find ? -exec rm {} ; | rm ?'],
    ['$a > x', ' > x'],
  ])('has its visible commands all the same: %j', (text, commands) => {
    expect(shown(text).replace(/(?: \| )?\([^)]*\)$/, '')).toBe(commands)
    expect(readCommands(text).isUnknown).toBe(true)
  })

  it('reveals nothing of the text', () => {
    expect(readCommands('$password "hunter2').why).not.toContain('hunter2')
  })
})

/** Each line removes `k` or `x` with `rm`; what a shell makes of it, and what is said when that is not known. */
describe('a command that is not visible', () => {
  it.each([
    'eval -- rm k',
    'command eval -- rm k',
    "env -S '-i rm k'",
    "env -S '-u A rm k'",
    "env -S 'rm\\_k'",
    "env -S 'a-b=c rm k'",
    "env -S '-u > rm k'",
    "env -S $'-u\\nA rm k'",
    'env a-b=c rm k',
    "git rebase -x'rm k' HEAD~1",
    "git rebase -ix 'rm k' HEAD~1",
    "git rebase --exe='rm k' HEAD~1",
    "git rebase --exe 'rm k' HEAD~1",
    "tar -I'rm k;' -cf a s",
    "tar -cI 'rm k' -f a s",
    "tar cIf 'rm k' a s",
    "tar --use-compress-prog='rm k' -cf a s",
    "tar --checkpoint-act=exec='rm k' -cf a s",
    "tar --checkpoint-action exec='rm k' -cf a s",
    'rsync -erm a b',
    'rsync -avzerm a b',
    "man -P'rm x' ls",
    "man -H'rm x' ls",
    "git clone -u'rm x' a",
    "git clone --upload-p='rm x' a",
    "git grep -O'rm x' a",
    "split --filt='rm x' a",
    "sort --compress-prog 'rm x' a",
    "zip -TT'rm x' a",
    'npm --prefix a exec rm x',
    'npm --never-heard a exec rm x',
    "npm -c 'rm x' exec",
    'npm exe rm x',
    'npm --json false exec rm x',
    'npm --prefix --prefix a exec rm x',
    'yarn workspace a exec rm x',
    'pnpm --filter a exec rm x',
    'yarn --cwd a exec rm x',
    'uv --directory a run rm x',
    'uv tool run rm x',
    'runuser -u me -g us rm x',
    "for x in 'a[$(rm k)]'; do echo $((x)); done",
    "select x in 'a[$(rm k)]'; do echo $((x)); done",
    "set -- 'a[$(rm k)]'; echo $(($1))",
    'BASH_CMDS[ls]=/bin/rm; ls k',
    "declare 'BASH_CMDS[ls]=/bin/rm'; ls k",
    "read 'BASH_CMDS[ls]' < a; ls k",
  ])('is at least unknown: %j', text => {
    const { commands, isUnknown } = readCommands(text)
    expect(isUnknown || commands.some(({ name }) => name === 'rm')).toBe(true)
  })

  it.each([
    ['eval -- rm k', 'eval -- rm k | rm k'],
    ["env -S '-u A rm' 'a b'", 'env -S -u A rm a b | env -u A rm a b | rm a b'],
    ["env -S 'sh -c' 'rm -f x'", 'env -S sh -c rm -f x | sh -c rm -f x | rm -f x'],
    ['env -S rm -i x', 'env -S rm -i x | rm -i x'],
    ["tar cIf 'rm k' a s", 'tar cIf rm k a s | rm k'],
    ['rsync -avzerm a b', 'rsync -avzerm a b | rm'],
    ["git rebase --exe 'rm k' main", 'git rebase --exe rm k main | rm k'],
    ['npm --prefix a exec rm x', 'npm --prefix a exec rm x | rm x'],
    ['pnpm --filter a exec rm x', 'pnpm --filter a exec rm x | rm x'],
    ['uv --directory a run rm x', 'uv --directory a run rm x | rm x'],
  ])('is found if possible: %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })

  it.each([
    ['eval "ls"', 'eval ls | ls'],
    ["env -S 'A=b ls -l'", 'env -S A=b ls -l | env A=b ls -l | ls -l'],
    ['npm --silent exec ls', 'npm --silent exec ls | ls'],
    ['npm --prefix a run build', 'npm --prefix a run build'],
    ['npm --prefix a run exec', 'npm --prefix a run exec'],
    ['npm --never-heard a run build', 'npm --never-heard a run build'],
    ['npm --prefix=a ci', 'npm --prefix=a ci'],
    ['npm -w a --no-audit test', 'npm -w a --no-audit test'],
    ['pnpm -r --filter "./a" run x', 'pnpm -r --filter ./a run x'],
    ['yarn --cwd a build', 'yarn --cwd a build'],
    ['uv --project a sync', 'uv --project a sync'],
    ['git rebase -i HEAD~1', 'git rebase -i HEAD~1'],
    ['git rebase -Xtheirs main', 'git rebase -Xtheirs main'],
    ['git clone -bx u', 'git clone -bx u'],
    ['git grep -eFOO a', 'git grep -eFOO a'],
    ['git grep -O a', 'git grep -O a'],
    ['tar -xzf a.tgz', 'tar -xzf a.tgz'],
    ['tar xzf a.tgz -C b', 'tar xzf a.tgz -C b'],
    ['tar -xzfIF.tgz', 'tar -xzfIF.tgz'],
    ['tar --to-stdout --newer=x -xf a', 'tar --to-stdout --newer=x -xf a'],
    ['tar --checkpoint=10 --checkpoint-action=dot -xf a', 'tar --checkpoint=10 --checkpoint-action=dot -xf a'],
    ['rsync -avz --delete a/ b', 'rsync -avz --delete a/ b'],
    ['man -k ls', 'man -k ls'],
    ['split -l 5 --verbose a', 'split -l 5 --verbose a'],
    ['sort --check a', 'sort --check a'],
    ["for x in 'a[0]' b; do echo $x; done", 'echo ?'],
    ["printf 'HOME=%s' a", 'printf HOME=%s a'],
    ['set -euo pipefail; ls', 'set -euo pipefail | ls'],
  ])('leaves a harmless neighbour known: %j', (text, commands) => {
    expect(shown(text)).toBe(commands)
  })
})

describe('an everyday command', () => {
  it.each([
    ...[
      'npm test',
      'npm run build -- --watch=false',
      'npx vitest run test/a.test.ts',
      'node scripts/a.mjs',
      'node --test',
    ],
    ...['python3 -m pytest -q', 'python3 a.py --x', 'python --version', 'perl a.pl', 'ruby -v', 'bash scripts/a.sh x'],
    ...["sed -n '1,20p' a", "sed -i.bak 's/one/two/g' a", "sed -e 's/e/f/;s/the e/x/' a", "awk -F'|' '{ print $1 }' a"],
    ...["awk '/foo|bar/ || $1 > 2 { x = x + 1 } END { print x }' a", 'tar -xzf a.tgz -C b', 'rsync -a a/ b', 'vim a'],
    ...['git -c user.name=x -c core.pager=cat log', 'git commit -m "fix: `x` [y]"', 'git config user.name', 'make -j4'],
    ...['git config --get core.editor', 'git --no-pager -C a diff', 'GIT_PAGER=cat git log', 'GIT_EDITOR= git commit'],
    ...['PATH="$HOME/bin:$PATH" x', 'export NODE_ENV=test', 'NODE_OPTIONS=--max-old-space-size=4096 npm t', 'A=1 b'],
    ...['cd a && ls -la | head -5 > b 2>&1', 'for f in *.ts; do echo "$f"; done', 'docker ps', 'docker build -t x .'],
    ...[
      'find . -name "*.ts" -not -path "./node_modules/*" | xargs grep -l x',
      'kubectl get pods',
      'docker compose up -d',
      'docker build -t "$tag" .',
      'update-grub',
      'cat "$f"',
    ],
    ...[
      'cat <<EOF > a\n`` {{ (x) ; \' " \nEOF\nls'.replace('``', ''),
      'while read -r l; do echo "$l"; done < a',
      'ssh -V',
    ],
    ...[
      'if [ ! -f a ]; then touch a; fi',
      '[[ $a == b* ]] && echo c',
      'x=$(git rev-parse HEAD) && echo "$x"',
      'sort -u a',
    ],
    ...[
      'curl -s https://x/y?z=1 | jq ".a[0]"',
      'kill %1',
      'command -v node',
      'type node',
      'which -a node',
      'trap - INT',
    ],
    ...[
      'echo \'a[1]\' "$((1 + 2))" ${#a} ${a%.*}',
      'printf "%s\\n" "a`b`" | cat'.replace('`b`', ''),
      'timeout 60 npm t',
    ],
  ])('is known: %j', text => {
    expect(readCommands(text)).toMatchObject({ isUnknown: false })
  })
})

describe('a hostile text', () => {
  const SEEDS = [
    ...[
      '(',
      '$(',
      '`',
      '{ ',
      '[[ ',
      '${',
      '((',
      "'",
      '"',
      '"$(',
      '<(',
      '$((',
      '\\',
      '\\`',
      '"`',
      "$'",
      'a[$(',
      '${a:-',
    ],
    ...['if ', 'case a in a) ', 'while ', 'for i in ', '! ', 'time ', 'coproc ', 'f(){ ', 'x=', '>', '<<<', '<<E\n$('],
    ...['"${a:-"', '${a/', '$((1+(', 'sudo ', 'env ', 'eval ', 'xargs ', 'find -exec ', 'a;', 'a|', 'a&&', '{a,', '@('],
    ...['bash -c ', "bash -c 'x' ", 'nice ', '-', '--a ', 'sed e ', 'awk | '],
  ]

  const repeated = (seed: string, length: number): string => `rm x;${seed.repeat(Math.floor(length / seed.length))}`

  test.each(SEEDS)('terminates, as unknown or parsed: %j, repeated', seed => {
    expect(readCommands(repeated(seed, 5_000))).toHaveProperty('isUnknown')
    expect(readCommands(repeated(seed, 130_000))).toEqual({ commands: [], isUnknown: true, why: 'it is too long' })
  })

  test.each(sample(SEEDS, 6))(`terminates near the limit: %j, repeated, ${SAMPLED}`, seed => {
    expect(readCommands(repeated(seed, 65_000))).toHaveProperty('isUnknown')
  })

  const pieces = fc.constantFrom(
    ...[
      'rm',
      'x',
      ' ',
      '\n',
      ';',
      '&',
      '|',
      '(',
      ')',
      '{',
      '}',
      '$',
      '`',
      '"',
      "'",
      '\\',
      '<',
      '>',
      '<<E\n',
      'E\n',
      '#',
    ],
    ...[
      'sudo ',
      'if ',
      'then ',
      'fi',
      'do ',
      'done',
      '[[ ',
      ']]',
      '((',
      '))',
      '$(',
      '${',
      '=',
      '*',
      '[',
      ']',
      '-c ',
      'sh ',
    ],
  )

  test('reads any text', () => {
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), parts => {
        const { commands, isUnknown, why } = readCommands(parts.join(''))
        expect(commands.every(each => typeof each.name === 'string')).toBe(true)
        expect(isUnknown).toBe(why !== undefined)
      }),
    )
  })
})
