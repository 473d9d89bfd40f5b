#!/bin/sh
# Makes the files of this folder with samtools, bcftools and tabix (1.16.1 was used) and Python 3 (no packages).
set -eu
cd "$(dirname "$0")"
rm -f ./*.bam ./*.bai ./*.csi ./*.cram ./*.crai ./*.gz ./*.tbi ./*.bcf reference.fa* answers.json
python3 make.py reference > reference.fa
samtools faidx reference.fa
python3 make.py reads > /tmp/regions.sam

# By samtools: no record spans two blocks, and the header has blocks of its own.
samtools view -b -o reads.bam /tmp/regions.sam
samtools index reads.bam reads.bam.bai
samtools index -c reads.bam reads.bam.csi
# By plain bgzip: records span blocks, and the header shares one with records.
samtools view -u /tmp/regions.sam | bgzip -dc | bgzip -c > spanning.bam
samtools index spanning.bam spanning.bam.bai
# No records.
samtools view -H -b -o empty.bam /tmp/regions.sam
samtools index empty.bam empty.bam.bai

# Containers of three slices; then slices of several references.
samtools view -C -T reference.fa --output-fmt-option seqs_per_slice=150 --output-fmt-option slices_per_container=3 \
  -o reads.cram /tmp/regions.sam
samtools index reads.cram
samtools view -C -T reference.fa --output-fmt-option version=3.1 --output-fmt-option seqs_per_slice=400 \
  --output-fmt-option multi_seq_per_slice=1 -o several.cram /tmp/regions.sam
samtools index several.cram

python3 make.py variants > /tmp/regions.vcf
bgzip -c /tmp/regions.vcf > variants.vcf.gz
tabix -f -p vcf variants.vcf.gz
tabix -f -C -p vcf variants.vcf.gz
bcftools view --no-version -O b -o variants.bcf /tmp/regions.vcf
bcftools index -f variants.bcf
python3 make.py answers > answers.json
rm reference.fa reference.fa.fai
