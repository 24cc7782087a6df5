// Follows README.md word for word in an empty folder: runs its commands and programs in order, and compares what it shows of
// their output.
//
//     node scripts/follow-readme.mjs package FOLDER   a folder that has only the packed tarball
//     node scripts/follow-readme.mjs clone FOLDER     a fresh clone
//
// A stand-in for Docker checks the file and the profile that a command names; servers here accept what is sent to its ports.
import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { argv, env, execPath, exit } from 'node:process'

const [form, folder] = [argv[2], resolve(argv[3] ?? '')]
if (form !== 'package' && form !== 'clone') throw new Error('package or clone?')

/**
 * As README.md says for a clone. `npm ci`, which builds, runs once. The tests are a step of their own: one file of them shows that
 * the command works.
 */
const IN_A_CLONE = [
  [/^npm install \S+\.tgz$/, 'npm ci'],
  [/ -f node_modules\/hookspan\/docker-compose\.yml/, ''],
  [/^npm ci && npm pack$/, 'npm pack --ignore-scripts'],
  [/^npm ci && npm test$/, 'npm test -- test/content/capture-policy.test.ts'],
]
/** For a clone only; for the time after the release; with a program of the reader's. */
const NOT_RUN = form === 'clone' ? /^npm (install hookspan|ci)$|^my-agent / : /^npm (install hookspan$|ci\b)|^my-agent /
/** These run until they are stopped. */
const UNTIL_STOPPED = /^npx hookspan (view|serve)\b/
const PORTS = [4318, 6006, 9090]

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const scratch = mkdtempSync(join(tmpdir(), 'hookspan-readme-'))
const home = join(scratch, 'home')
const bin = join(scratch, 'bin')
const servers = await Promise.all(PORTS.map(acceptEverything))
let failed = 0

mkdirSync(home)
mkdirSync(bin)
const docker = `#!/bin/sh
[ "$1 $2" = "compose -f" ] && { file=$3; shift 3; } || { file=docker-compose.yml; shift 1; }
[ "$1 $3 $4" = "--profile up -d" ] && grep -q "profiles: \\[.*$2" "$file"
`
writeFileSync(join(bin, 'docker'), docker)
chmodSync(join(bin, 'docker'), 0o755)

for (const step of steps()) {
  const began = Date.now()
  const fault = await faultOf(step)
  console.log(`${fault ? 'FAILED' : 'ok'}  ${step.text.split('\n')[0]}  ${Date.now() - began} ms`)
  if (fault) console.log(fault)
  if (fault) failed += 1
}
for (const server of servers) server.close()
rmSync(scratch, { recursive: true, force: true })
console.log(`README.md (${form}): ${failed} failed`)
exit(failed === 0 ? 0 : 1)

/** In order of the page: the lines of `sh` blocks, programs, trees, and the commands between backticks. */
function steps() {
  const found = readme.matchAll(/^```(\w+)\n([\s\S]*?)^```|`((?:[A-Z_]+=\S+ )?(?:npx|npm|my-agent) [^`\n]+)`/gm)
  return [...found].flatMap(([, language, body, inline]) => {
    if (language === 'sh')
      return body
        .trimEnd()
        .split('\n')
        .filter(line => !NOT_RUN.test(line))
        .map(commandOf)
    if (language === 'js') return [{ kind: 'program', text: body }]
    if (language === 'text') return [{ kind: 'tree', text: body }]
    return inline === undefined || NOT_RUN.test(inline) ? [] : [commandOf(inline)]
  })
}

function commandOf(line) {
  const text = form === 'clone' ? IN_A_CLONE.reduce((all, [shown, run]) => all.replace(shown, run), line) : line
  return { kind: 'command', text }
}

async function faultOf({ kind, text }) {
  if (kind === 'tree') {
    const { output } = await run('npx hookspan tree --last 1')
    return shapeOf(output).includes(shapeOf(text)) ? undefined : `not as shown:\n${output}`
  }
  if (kind === 'program') {
    writeFileSync(join(folder, 'agent.mjs'), text)
    const { code, output } = await run(`'${execPath}' agent.mjs`)
    return code === 0 && output === '' ? undefined : `exit code ${code}\n${output}`
  }
  const { code, output } = await run(text)
  return code === 0 ? undefined : `exit code ${code}\n${output}`
}

/** Runs it as a reader would, who stops the viewer and the receiver with Ctrl-C once their address is there. */
function run(line) {
  const { HOOKSPAN_TEST_COUNTS: _, ...inherited } = env
  const own = { HOME: home, XDG_STATE_HOME: home, COLUMNS: '100', npm_config_update_notifier: 'false' }
  const child = spawn('bash', ['-c', `exec 2>&1\n${line}`], {
    cwd: folder,
    env: { ...inherited, ...own, npm_config_cache: cache(), PATH: `${bin}${delimiter}${env.PATH}` },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const isEndless = UNTIL_STOPPED.test(line)
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    output += chunk
    if (isEndless && /http:\S+\s/.test(output)) process.kill(-child.pid, 'SIGINT')
  })
  return new Promise(done =>
    child.on('close', (code, signal) => done({ code: isEndless && signal === 'SIGINT' ? 0 : code, output })),
  )
}

/** npm's own cache, whose place depends on the home folder. */
function cache() {
  return env.npm_config_cache ?? join(env.HOME ?? '', '.npm')
}

/** Labels and outcomes of a drawn tree, without bars and times. */
function shapeOf(drawn) {
  return drawn
    .split('\n')
    .filter(line => /^ {2}(agent|[│ ]*[├└]─) /.test(line))
    .map(line =>
      line
        .replace(/ [━─╺╸╶╴╍╌]+(?= )/g, '')
        .replace(/\b\d[\d.]* (ms|s)\b/, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .join('\n')
}

async function acceptEverything(port) {
  const server = createServer((request, response) => request.resume().on('end', () => response.writeHead(200).end()))
  await new Promise((done, fail) => server.once('error', fail).listen(port, '127.0.0.1', done))
  return server
}
