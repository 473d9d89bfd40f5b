import htsjdk.samtools.*;
import java.io.File;
import java.net.*;

/** htsjdk as a client of regions, and as a writer of files. Prints names of reads. */
public class Regions {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "write" -> write(new File(args[1]), new File(args[2]));
      case "htsget" -> {
        // By the file's header, and one request of htsget for the region.
        var reader = new HtsgetBAMFileReader(
            new URI(args[1]), true, ValidationStringency.STRICT, DefaultSAMRecordFactory.getInstance(), false);
        print(reader.query(new QueryInterval[] {interval(reader.getFileHeader(), args[2])}, false));
      }
      case "http" -> {
        // By ranges of the file, with the index beside it.
        var resource = SamInputResource.of(new URI(args[1]).toURL()).index(new URI(args[1] + ".bai").toURL());
        try (var reader = SamReaderFactory.makeDefault().open(resource)) {
          print(reader.query(new QueryInterval[] {interval(reader.getFileHeader(), args[2])}, false));
        }
      }
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static void write(File from, File to) throws Exception {
    try (var reader = SamReaderFactory.makeDefault().open(from)) {
      var header = reader.getFileHeader();
      try (var writer = new SAMFileWriterFactory().setCreateIndex(true).makeBAMWriter(header, true, to)) {
        for (var read : reader) writer.addAlignment(read);
      }
    }
  }

  /** `chr1:1-100`, 1-based and inclusive. */
  private static QueryInterval interval(SAMFileHeader header, String region) {
    var parts = region.split("[:-]");
    int reference = header.getSequenceIndex(parts[0]);
    return new QueryInterval(reference, Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
  }

  private static void print(java.util.Iterator<SAMRecord> reads) {
    while (reads.hasNext()) System.out.println(reads.next().getReadName());
  }
}
