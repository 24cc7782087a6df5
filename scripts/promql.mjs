/** PromQL over the instrument table. `$ns` and `$job` are variables of the dashboard. */

/** What the OTLP to Prometheus translation appends to a histogram's name; the JS Prometheus exporter appends nothing. */
const UNIT_SUFFIX = { s: 'seconds', ms: 'milliseconds', By: 'bytes' }

const asLabel = key => key.replaceAll('.', '_')

function selector(name, filter) {
  return `${name}{${[...(filter ? [filter] : []), 'job=~"$job"'].join(', ')}}`
}

/**
 * The expressions of one instrument. One that makes no sense for its kind throws, as does a label that it does not have.
 *
 * @param name OTel name, `{ns}` for the namespace
 * @param row its row of the instrument table
 */
function instrument(name, row) {
  const base = name.replace('{ns}', '$' + '{ns}').replaceAll('.', '_')
  const suffix = UNIT_SUFFIX[row.unit]
  const known = label => {
    if (!row.labels.includes(label)) throw new Error(`${name} has no label ${label}`)
    return asLabel(label)
  }
  const by = labels => (labels.length ? `sum by (${labels.map(known).join(', ')}) ` : 'sum')
  const only = (...kinds) => {
    if (!kinds.includes(row.kind)) throw new Error(`${name} is a ${row.kind}, not a ${kinds.join(' or ')}`)
  }
  const part = which => {
    only('histogram')
    if (!suffix) return selector(`${base}_${which}`)
    return `{__name__=~"${base}(_${suffix})?_${which}", job=~"$job"}`
  }
  const total = filter => {
    only('counter')
    return selector(`${base}_total`, filter)
  }
  const value = () => {
    only('gauge', 'up_down_counter')
    return selector(base)
  }
  return {
    legend: (...labels) => labels.map(label => `{{${known(label)}}}`).join(' '),
    now: (...labels) => `${by(labels)}(${value()})`,
    perMinute: (...labels) => `${by(labels)}(rate(${total()}[$__rate_interval])) * 60`,
    perMinuteWhere: (filter, ...labels) => `${by(labels)}(rate(${total(filter)}[$__rate_interval])) * 60`,
    inRange: (filter, ...labels) => `${by(labels)}(increase(${total(filter)}[$__range]))`,
    observations: (...labels) => `${by(labels)}(rate(${part('count')}[$__rate_interval])) * 60`,
    sumInRange: (...labels) => `${by(labels)}(increase(${part('sum')}[$__range]))`,
    quantile: (q, ...labels) =>
      `histogram_quantile(${q}, sum by (${['le', ...labels.map(known)].join(', ')}) (rate(${part('bucket')}[$__rate_interval])))`,
    quantileInRange: q => `histogram_quantile(${q}, sum by (le) (increase(${part('bucket')}[$__range])))`,
  }
}

/** @returns the same keys as `METRIC`, each with its expressions */
export function expressions(METRIC, INSTRUMENTS) {
  return Object.fromEntries(Object.entries(METRIC).map(([key, name]) => [key, instrument(name, INSTRUMENTS[key])]))
}
