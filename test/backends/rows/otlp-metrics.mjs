import { eachField } from '../../support/protobuf-fields.mjs'

/** Where a kind of metric lies in a message, and its name in JSON. */
const KINDS = new Map([
  [5, 'gauge'],
  [7, 'sum'],
  [9, 'histogram'],
])
const TEMPORALITIES = ['unspecified', 'delta', 'cumulative']

/** The metrics of an OTLP request, JSON or protobuf, in one shape. */
export function metricsOfRequest(body, isJson) {
  return isJson ? metricsOfJson(JSON.parse(body.toString('utf8'))) : metricsOfProtobuf(body)
}

function metricsOfJson({ resourceMetrics = [] }) {
  const metrics = resourceMetrics.flatMap(({ scopeMetrics = [] }) => scopeMetrics.flatMap(scope => scope.metrics ?? []))
  return metrics.map(metric => {
    const kind = [...KINDS.values()].find(name => metric[name] !== undefined)
    const { aggregationTemporality = 0, dataPoints = [] } = metric[kind] ?? {}
    return described(metric.name, kind, aggregationTemporality, dataPoints.length)
  })
}

function metricsOfProtobuf(body) {
  return nested(body, 1)
    .flatMap(resource => nested(resource, 2))
    .flatMap(scope => nested(scope, 2))
    .map(readMetric)
}

function readMetric(message) {
  let name = ''
  let found = {}
  eachField(message, (field, value) => {
    if (field === 1) name = value.toString('utf8')
    else if (KINDS.has(field)) found = { kind: KINDS.get(field), value }
  })
  let temporality = 0
  eachField(found.value, (field, value) => {
    if (field === 2) temporality = value
  })
  return described(name, found.kind, temporality, nested(found.value, 1).length)
}

function described(name, kind, temporality, points) {
  return { name, kind, temporality: kind === 'gauge' ? undefined : TEMPORALITIES[temporality], points }
}

function nested(message, wanted) {
  const found = []
  eachField(message, (field, value) => {
    if (field === wanted) found.push(value)
  })
  return found
}
