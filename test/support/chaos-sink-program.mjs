import { ChaosSink } from './chaos-sink.mjs'

/** The process of a `ChaosSinkProcess`: commands come over the channel to its parent, and it ends with that channel. */

const [behaviour, options] = JSON.parse(process.argv[2] ?? '[]')
const sink = await ChaosSink.start(behaviour, options)

const COMMANDS = {
  behave: to => {
    sink.behaviour = to
  },
  goDown: () => sink.goDown(),
  comeBack: () => sink.comeBack(),
  play: steps => sink.play(steps),
  counts: () => sink.counts,
  accepted: from => sink.accepted.slice(from),
  requests: from => sink.requests.slice(from),
  deliveries: () => sink.deliveries,
}

process.on('message', async ({ id, command, argument }) => {
  process.send({ id, result: await COMMANDS[command](argument) })
})
process.on('disconnect', () => process.exit())
process.send({ url: sink.url })
