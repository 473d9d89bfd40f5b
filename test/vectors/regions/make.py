"""Seeded reads and variants on three references, and what htslib finds in regions of them."""
import hashlib
import json
import random
import subprocess
import sys

LENGTHS = {"one": 300_000, "two": 70_000, "three": 20_000}
REGIONS = [
    ["one:1-1"], ["one:1-1000"], ["one:99001-100000"], ["one:16384-16385"], ["one:299900-300000"], ["one"],
    ["one:200001-230000"], ["two:1-70000"], ["two:69999-70000"], ["three"], ["three:1-20000", "one:50001-50100"],
    ["one:131072-131073"], [f"one:{at}-{at + 10}" for at in range(1000, 290_000, 15_000)],
]


def sequences():
    choice = random.Random(1)
    return {name: "".join(choice.choices("ACGT", k=length)) for name, length in LENGTHS.items()}


def reference():
    for name, bases in sequences().items():
        print(f">{name}\n" + "\n".join(bases[at:at + 60] for at in range(0, len(bases), 60)))


def reads():
    choice = random.Random(2)
    print("@HD\tVN:1.6\tSO:coordinate")
    for name, length in LENGTHS.items():
        print(f"@SQ\tSN:{name}\tLN:{length}")
    number = 0
    for name, bases in sequences().items():
        # No read lies on positions 200,001 to 230,000 of the first reference; none at all on the third.
        starts = [] if name == "three" else [choice.randrange(len(bases) - 100) for _ in range(len(bases) // 100)]
        for start in sorted(s for s in starts if not 199_850 <= s < 230_000 or name != "one"):
            number += 1
            # Some reads skip 20,000 positions, so that they lie in larger bins.
            skip = 20_000 if choice.random() < 0.01 and start + 20_100 < len(bases) and not 150_000 < start < 230_000 else 0
            cigar = f"50M{skip}N50M" if skip else "100M"
            sequence = bases[start:start + 50] + bases[start + 50 + skip:start + 100 + skip]
            quality = "".join(choice.choices("#-7F", k=100))
            print(f"r{number}\t0\t{name}\t{start + 1}\t60\t{cigar}\t*\t0\t0\t{sequence}\t{quality}")
    for _ in range(200):
        number += 1
        sequence = "".join(choice.choices("ACGT", k=100))
        quality = "".join(choice.choices("#-7F", k=100))
        print(f"r{number}\t4\t*\t0\t0\t*\t*\t0\t0\t{sequence}\t{quality}")


def variants():
    choice = random.Random(3)
    print("##fileformat=VCFv4.3")
    # The numbers of BCF differ from the order of the records' references.
    for name in ["unused", "one", "two", "three"]:
        print(f"##contig=<ID={name},length={LENGTHS.get(name, 1000)}>")
    print('##INFO=<ID=NOTE,Number=1,Type=String,Description="Filler">')
    print("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO")
    for name, bases in sequences().items():
        positions = sorted(choice.sample(range(len(bases) - 40_000 if name == "one" else len(bases) - 100), len(bases) // 60))
        for number, at in enumerate(p for p in positions if not 199_000 <= p < 230_000 or name != "one"):
            ref = bases[at:at + choice.choice([1, 1, 1, 30])]
            alt = {"A": "C", "C": "G", "G": "T", "T": "A"}[ref[0]]
            note = "".join(choice.choices("abcdefghijklmnopqrstuvwxyz", k=60))
            if name != "three":
                print(f"{name}\t{at + 1}\tv{name}{number}\t{ref}\t{alt}\t50\tPASS\tNOTE={note}")


def digest(names):
    return {"count": len(names), "sha256": hashlib.sha256("".join(f"{n}\n" for n in names).encode()).hexdigest()}


def names(command, column):
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t")[column] for line in text.splitlines()]


def answers():
    found = {}
    for path in ["reads.bam", "spanning.bam", "empty.bam", "reads.cram", "several.cram"]:
        view = ["samtools", "view", "-T", "reference.fa", path]
        found[path] = {" ".join(r): digest(names([*view[:2], "-M", *view[2:], *r], 0)) for r in REGIONS}
        found[path]["*"] = digest(names([*view, "*"], 0))
        found[path]["whole"] = digest(names(view, 0))
    for path in ["variants.vcf.gz", "variants.bcf"]:
        view = ["bcftools", "view", "-H", path]
        found[path] = {" ".join(r): digest(names([*view, "-r", ",".join(r)], 2)) for r in REGIONS}
        found[path]["whole"] = digest(names(view, 2))
    json.dump(found, sys.stdout, indent=1)
    print()


{"reference": reference, "reads": reads, "variants": variants, "answers": answers}[sys.argv[1]]()
