import { hoursAMonth, type Inventory } from './inventory.ts';
import { type Amounts, downloadedGib, serviceAmounts, storedGib, there, used, type Workload } from './usage.ts';

/** The same work by servers, through which every byte passes. */
export interface Alternative {
  readonly name: string;
  readonly amounts: Amounts;
}

/** docs/cost.md has each with its reason. */
export const servers = {
  /** Tasks of Fargate that always run, one in each of two zones. */
  tasks: 2,
  /** vCPU and GB of a task. */
  task: { cpu: 1, memory: 2 },
  /** Share of a processor that is busy on average: the rest is kept for peaks. */
  busy: 0.5,
  /** vCPU of an m7g.large. */
  machineCpus: 2,
  /** GiB of a machine's disk. */
  diskGib: 100,
  /** Bytes of a part that a server writes. */
  partBytes: 10 * 2 ** 20,
} as const;

/** Prices that a server pays as this service does: where the catalogue, the keys and the watch are. */
const shared = [
  'aurora.capacity',
  'aurora.storage',
  'kms.keys',
  'secrets',
  'cloudwatch.alarms',
  'cloudwatch.dashboards',
  'waf.acls',
  'waf.rules',
];

/** Of `docs/performance/export.json`, as far as it is needed. */
export interface StraightFigure {
  readonly containerBytes: number;
  readonly straight: { readonly cpuMilliseconds: number };
}

/** Processor time of the straight way for its largest file: the one with the least overhead. @throws Error without figures */
export function straightSecondsPerGib(figures: readonly StraightFigure[]): number {
  const largest = figures.at(-1);
  if (!largest) throw new Error('there are no figures of the straight way');
  return largest.straight.cpuMilliseconds / 1000 / (largest.containerBytes / 2 ** 30);
}

/**
 * What servers use for the same work. Egress is the same for all.
 *
 * @param secondsPerGib processor time for a GiB that is read and written again: `straight` of `npm run bench export`
 */
export function alternatives(
  inventory: Inventory,
  workload: Workload,
  secondsPerGib: number,
): readonly [once: Alternative, twice: Alternative, nat: Alternative, machine: Alternative] {
  const { exports, files, downloads } = workload;
  const staged = exports * workload.gib;
  const sent = downloadedGib(workload);
  const service = serviceAmounts(inventory, workload);
  const base = Object.fromEntries(Object.entries(service).filter(([id]) => shared.includes(id)));
  const partsOfAFile = 2 + Math.ceil((workload.gib * 2 ** 30) / files / servers.partBytes);
  const hoursFor = (gib: number) => (gib * secondsPerGib) / 3600 / servers.busy;

  const fargate = (through: number): Amounts => {
    const idle = servers.tasks * hoursAMonth;
    const cpu = { idle: idle * servers.task.cpu, use: Math.max(0, hoursFor(through) - idle * servers.task.cpu) };
    const memory = servers.task.memory / servers.task.cpu;
    return {
      ...base,
      egress: used(sent),
      'fargate.cpu': cpu,
      'fargate.memory': { idle: cpu.idle * memory, use: cpu.use * memory },
      'alb.hours': there(hoursAMonth),
      'alb.capacity': used(sent),
      // The load balancer has an address in each zone, too.
      'ipv4.hours': there(2 * servers.tasks * hoursAMonth),
      's3.reads': used(exports * files * downloads),
    };
  };
  const twice = {
    ...fargate(staged + sent),
    's3.storage': used(storedGib(workload)),
    's3.writes': used(exports * files * partsOfAFile),
    's3.reads': used(exports * files * (1 + downloads)),
  };
  const machines = Math.max(1, Math.ceil(hoursFor(sent) / (servers.machineCpus * hoursAMonth)));
  return [
    { name: 'servers, from the archive', amounts: fargate(sent) },
    { name: 'servers, through an outbox', amounts: twice },
    {
      name: 'the same, S3 behind a NAT gateway',
      amounts: {
        ...twice,
        'nat.hours': there(servers.tasks * hoursAMonth),
        'nat.bytes': used(2 * staged + sent),
      },
    },
    {
      name: 'one machine',
      amounts: {
        egress: used(sent),
        'ec2.m7gLarge': { idle: hoursAMonth, use: (machines - 1) * hoursAMonth },
        'ebs.gp3': { idle: servers.diskGib, use: (machines - 1) * servers.diskGib },
        'ipv4.hours': { idle: hoursAMonth, use: (machines - 1) * hoursAMonth },
        's3.reads': used(exports * files * downloads),
      },
    },
  ];
}
